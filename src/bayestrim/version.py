"""The version, which results carry."""

__version__ = "0.1.0"
