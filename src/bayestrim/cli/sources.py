"""What the command line is given: models, tables, rows and prices, from files or standard input."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.errors import ClassifierError, FormatError, ProblemError, UnknownNameError, suggestion
from bayestrim.files import file_error
from bayestrim.formats import read_network
from bayestrim.network import BayesianNetwork
from bayestrim.prices import Prices, read_prices
from bayestrim.problem import TrimProblem
from bayestrim.rows import as_number
from bayestrim.tables import Table, read_table

if TYPE_CHECKING:
    from bayestrim.learn import Learned
    from bayestrim.trimming import Trimming

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")


@dataclass(frozen=True)
class Source:
    """A file, or standard input, read once.

    Attributes
    ----------
    path
        As it was given.
    """

    path: str

    @cached_property
    def content(self) -> bytes:
        """Everything that is in it."""
        try:
            if self.path == "-":
                return sys.stdin.buffer.read()
            with open(self.path, "rb") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise file_error("read", self.origin, error) from None

    @property
    def origin(self) -> str:
        """What messages call it."""
        return "<stdin>" if self.path == "-" else self.path

    def file(self) -> io.BytesIO:
        """Return the content as an open file with a name."""
        file = io.BytesIO(self.content)
        file.name = self.origin
        return file

    @property
    def sha256(self) -> str:
        """The content's fingerprint."""
        return hashlib.sha256(self.content).hexdigest()

    @cached_property
    def saved(self) -> str:
        """What kind of saved file it is: the end of its ``"format"``, empty for all else."""
        if self.content.lstrip()[:1] != b"{":
            return ""
        try:
            kind = json.loads(self.content).get("format", "")
        except (ValueError, RecursionError):
            return ""
        return kind.removeprefix("bayestrim ") if isinstance(kind, str) else ""

    @property
    def looks_like_a_table(self) -> bool:
        """Whether its name is that of a table."""
        return self.path.lower().endswith(TABLES)

    def table(self, **options: Any) -> Table:
        """Return the table that is in it."""
        return read_table(self.file(), **options)

    def result(self) -> Trimming:
        """Return the result that is in it."""
        from bayestrim import load_result  # noqa: PLC0415  (what searches is slow to import)

        return load_result(self.file())


def names(texts: Iterable[str]) -> list[str]:
    """Return the names in lists with commas between them; a name that has commas stands in double quotes.

    Examples
    --------
    >>> names(["a,b", '"c, d"'])
    ['a', 'b', 'c, d']
    """
    cells = [cell.strip() for text in texts for cell in next(csv.reader([text], skipinitialspace=True), [])]
    return [cell for cell in cells if cell]


def pair(text: str, known: Sequence[str], what: str) -> tuple[str, str]:
    """Return the two sides of ``NAME=VALUE``; where there are several signs, the one after a known name counts.

    Examples
    --------
    >>> pair("a=b=c", ["a=b"], "--cost")
    ('a=b', 'c')
    """
    if "=" not in text:
        raise ProblemError(f"{what} {text!r}: NAME=VALUE is needed")
    places = [place for place, sign in enumerate(text) if sign == "="]
    place = next((place for place in places if text[:place] in known), places[0])
    return text[:place].strip(), text[place + 1 :].strip()


@dataclass(frozen=True)
class ModelQuestion:
    """Which classifier is meant: the model's file and the options that every command has."""

    model: str
    target: str | None = None
    positive: tuple[str, ...] = ()
    threshold: float | None = None
    features: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    learn: bool = False
    structure: str = "naive"
    bins: int = 5
    smoothing: float = 1.0
    weights: str | None = None

    @cached_property
    def source(self) -> Source:
        """The model's file."""
        return Source(self.model)

    def learned(self) -> Learned:
        """Return what is learnt from the model's table."""
        from bayestrim.learn import learn  # noqa: PLC0415

        if self.target is None:
            raise ClassifierError("--target is needed: the column of the class")
        table = self.source.table()
        wanted = names(self.features)
        return learn(
            table,
            self.target,
            structure=self.structure,  # type: ignore[arg-type]  # click checked it
            positive=names(self.positive) or None,
            bins=self.bins,
            smoothing=self.smoothing,
            weights=self.weights,
            features=None if wanted in ([], ["all"]) else wanted,
        )

    def network(self) -> BayesianNetwork:
        """Return the model's network."""
        if self.learn:
            return self.learned().network
        if self.source.saved:
            return self._saved().network
        if self.source.looks_like_a_table:
            raise FormatError("this is a table; with --learn, a model is learnt from it", self.source.origin)
        return read_network(self.source.file())

    def classifier(self) -> Classifier:
        """Return the classifier that is meant."""
        if self.learn:
            learned = self.learned()
            made = learned.classifier(threshold=0.5 if self.threshold is None else self.threshold)
        elif self.source.saved:
            made = self._saved()
            if self._changed(made):
                made = self._made(made.network, made.target, made.positive, made.threshold)
        elif self.target is None:
            raise ClassifierError("--target is needed: the variable that decides (describe MODEL lists them)")
        else:
            made = self._made(self.network(), self.target, None, 0.5)
        return (
            made.given(dict(pair(text, made.network.names, "--given") for text in self.given)) if self.given else made
        )

    def _changed(self, saved: Classifier) -> bool:
        asked = (self.target or saved.target, names(self.positive), self.threshold, self.features)
        return asked != (saved.target, [], None, ())

    def _made(
        self, network: BayesianNetwork, target: str, positive: tuple[str, ...] | None, threshold: float
    ) -> Classifier:
        target = self.target or target
        return Classifier(
            network,
            target,
            names(self.positive) or positive,
            self._features(network, target),
            threshold if self.threshold is None else self.threshold,
        )

    def _features(self, network: BayesianNetwork, target: str) -> list[str] | None:
        wanted = names(self.features)
        if wanted == ["leaves"] and "leaves" not in network:
            return [name for name in network.leaves if name != target]
        return None if wanted in ([], ["all"]) and "all" not in network else wanted

    def _saved(self) -> Classifier:
        if self.source.saved == "classifier":
            return Classifier.load(self.source.file())
        if self.source.saved == "naive Bayes":
            return GaussianNaiveBayes.load(self.source.file())
        return self.source.result().problem.classifier


@dataclass(frozen=True)
class PriceQuestion:
    """What features cost: a file, and single costs that go before it."""

    costs: str | None = None
    cost: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()

    def prices(self, classifier: Classifier) -> Prices:
        """Return the prices of a classifier's features: the model's own, then the file's, then single ones."""
        features = classifier.features
        own: Mapping[str, float] = {}
        known: Sequence[str] = ()
        if not isinstance(classifier, GaussianNaiveBayes):  # which has no network
            own, known = classifier.network.costs, classifier.network.names
        found = Prices() if self.costs is None else read_prices(Source(self.costs).file())
        found = found.of(features, known)
        costs = {name: cost for name, cost in own.items() if name in features} | dict(found.costs)
        for text in self.cost:
            name, amount = pair(text, features, "--cost")
            if name not in features:
                raise UnknownNameError(f"--cost {text!r}: {name!r} is not a feature{suggestion(name, features)}")
            costs[name] = _amount(amount, f"--cost {text!r}")
        return Prices(costs, {**found.setup_costs, **dict(self._setup(text) for text in self.setup)})

    def _setup(self, text: str) -> tuple[str, tuple[float, tuple[str, ...]]]:
        name, rest = pair(text, (), "--setup")
        amount, colon, members = rest.partition(":")
        if not colon:
            raise ProblemError(f"--setup {text!r}: NAME=COST:FEATURE,FEATURE… is needed")
        return name, (_amount(amount.strip(), f"--setup {text!r}"), tuple(names([members])))


def _amount(text: str, where: str) -> float:
    amount = as_number(text)
    if amount is None or not 0 <= amount < float("inf"):
        raise ProblemError(f"{where}: {text!r} is not a number of at least 0")
    return amount


def problem_of(classifier: Classifier, prices: PriceQuestion, budget: float, options: Mapping[str, Any]) -> TrimProblem:
    """Return a classifier with its prices, and the constraints that the options name."""
    costs = prices.prices(classifier)
    return TrimProblem(
        classifier,
        budget,
        costs.costs,
        "keep" if options["keep_threshold"] else "optimal",
        costs.setup_costs,
        names(options["require"]),
        names(options["forbid"]),
        options["max_features"],
    )
