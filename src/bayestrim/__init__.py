"""bayestrim: which features a Bayesian network classifier should keep, when each of them costs something."""

from bayestrim import reference
from bayestrim.agreement import eca, expected_sdp, maa, mpa, sdp, tie_mass
from bayestrim.classifier import Classifier
from bayestrim.errors import (
    BayestrimError,
    ClassifierError,
    ColumnWarning,
    EvidenceError,
    FileError,
    FormatError,
    ImpossibleEvidenceError,
    MissingFileError,
    NetworkError,
    RowSumWarning,
    TooLargeError,
    UnknownNameError,
)
from bayestrim.formats import read_network, write_network
from bayestrim.formats.objects import from_pgmpy, from_pyagrum, from_sklearn
from bayestrim.network import BayesianNetwork, Variable
from bayestrim.result import NEVER_POSITIVE, Interval, MaxAgreement, ThresholdInterval

__version__ = "0.1.0"

__all__ = [
    "NEVER_POSITIVE",
    "BayesianNetwork",
    "BayestrimError",
    "Classifier",
    "ClassifierError",
    "ColumnWarning",
    "EvidenceError",
    "FileError",
    "FormatError",
    "ImpossibleEvidenceError",
    "Interval",
    "MaxAgreement",
    "MissingFileError",
    "NetworkError",
    "RowSumWarning",
    "ThresholdInterval",
    "TooLargeError",
    "UnknownNameError",
    "Variable",
    "eca",
    "expected_sdp",
    "from_pgmpy",
    "from_pyagrum",
    "from_sklearn",
    "maa",
    "mpa",
    "read_network",
    "reference",
    "sdp",
    "tie_mass",
    "write_network",
]


def __dir__() -> list[str]:
    """List the public names, without the modules they come from."""
    return [*__all__, "__version__"]
