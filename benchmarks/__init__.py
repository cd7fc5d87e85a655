"""Commands that print the figures the documentation quotes: ``python -m benchmarks.NAME``."""
