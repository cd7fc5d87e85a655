"""bayestrim: which features a Bayesian network classifier should keep, when each of them costs something."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayestrim import reference
from bayestrim.agreement import eca, expected_sdp, maa, mpa, sdp, tie_mass
from bayestrim.classifier import Classifier
from bayestrim.continuous import DiscreteFeature, GaussianFeature, GaussianNaiveBayes
from bayestrim.curve import BudgetCurve, CurvePoint
from bayestrim.errors import (
    BayestrimError,
    CheckpointError,
    ClassifierError,
    ColumnWarning,
    EvidenceError,
    FileError,
    FormatError,
    ImpossibleEvidenceError,
    LearnError,
    LostWorkersWarning,
    MissingFileError,
    MissingPackageError,
    NetworkError,
    ProblemError,
    RowSumWarning,
    TooLargeError,
    UnknownNameError,
)
from bayestrim.formats import read_network, write_network
from bayestrim.formats.objects import from_pgmpy, from_pyagrum, from_sklearn
from bayestrim.learn import Learned, LearnReport, learn
from bayestrim.network import BayesianNetwork, Variable
from bayestrim.problem import Limits, TrimProblem
from bayestrim.result import NEVER_POSITIVE, Interval, MaxAgreement, ThresholdInterval
from bayestrim.trimming import Choice, SearchStats, Status, StopReason, Trimming, load_result
from bayestrim.verify import Verification, verify
from bayestrim.version import __version__ as __version__

if TYPE_CHECKING:
    from bayestrim.description import Description, FeatureWorth, describe
    from bayestrim.estimators import BudgetSelector, TrimmedClassifier
    from bayestrim.search import Event, frontier, resume, trim

__all__ = [
    "NEVER_POSITIVE",
    "BayesianNetwork",
    "BayestrimError",
    "BudgetCurve",
    "BudgetSelector",
    "CheckpointError",
    "Choice",
    "Classifier",
    "ClassifierError",
    "ColumnWarning",
    "CurvePoint",
    "Description",
    "DiscreteFeature",
    "Event",
    "EvidenceError",
    "FeatureWorth",
    "FileError",
    "FormatError",
    "GaussianFeature",
    "GaussianNaiveBayes",
    "ImpossibleEvidenceError",
    "Interval",
    "LearnError",
    "LearnReport",
    "Learned",
    "Limits",
    "LostWorkersWarning",
    "MaxAgreement",
    "MissingFileError",
    "MissingPackageError",
    "NetworkError",
    "ProblemError",
    "RowSumWarning",
    "SearchStats",
    "Status",
    "StopReason",
    "ThresholdInterval",
    "TooLargeError",
    "TrimProblem",
    "TrimmedClassifier",
    "Trimming",
    "UnknownNameError",
    "Variable",
    "Verification",
    "describe",
    "eca",
    "expected_sdp",
    "from_pgmpy",
    "from_pyagrum",
    "from_sklearn",
    "frontier",
    "learn",
    "load_result",
    "maa",
    "mpa",
    "read_network",
    "reference",
    "resume",
    "sdp",
    "tie_mass",
    "trim",
    "verify",
    "write_network",
]


_LATER = {
    "Description": "bayestrim.description",
    "Event": "bayestrim.search",
    "FeatureWorth": "bayestrim.description",
    "describe": "bayestrim.description",
    "frontier": "bayestrim.search",
    "resume": "bayestrim.search",
    "trim": "bayestrim.search",
}
"""Where the names come from whose modules compile, which predicting must not wait for."""


def __getattr__(name: str) -> Any:
    """Import what compiles when it is asked for."""
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in ("BudgetSelector", "TrimmedClassifier"):
        try:
            return getattr(import_module("bayestrim.estimators"), name)
        except ModuleNotFoundError as error:
            if error.name and error.name.split(".")[0] != "sklearn":
                raise
            raise MissingPackageError(f"{name} needs scikit-learn: pip install 'bayestrim[sklearn]'") from None
    raise AttributeError(f"module 'bayestrim' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, without the modules they come from."""
    return [*__all__, "__version__"]
