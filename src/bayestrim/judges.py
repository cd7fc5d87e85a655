"""What judges an answer: the probabilities of all instances where they are few, or instances that are drawn.

Nothing of what searches, bounds or computes agreements is used here.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from bayestrim import inference, reference
from bayestrim.classifier import Classifier
from bayestrim.continuous import GaussianNaiveBayes
from bayestrim.errors import TooLargeError
from bayestrim.result import NEVER_POSITIVE, Interval
from bayestrim.trimming import Choice, Trimming

BoolArray = npt.NDArray[np.bool_]
Features = tuple[str, ...]

TOLERANCE = 1e-9
"""How far a stated share of decisions may be off."""
FALSE_ALARM = 1e-9
"""The chance that one statement that is true is refused for what a sample happened to show."""
MOST_WORLDS = 2**15
"""The most joint instances that are written out: a second's work."""
MOST_BITS = 2**28
"""The most memory, in bits, for the probabilities of all instances as exact integers."""
MOST_ADDITIONS = 3_000_000
"""The most work, in instances times subsets, for trying all affordable subsets."""
MOST_SUBSETS = 50_000
"""The most affordable subsets that are all tried."""
MOST_RIVALS = 100
"""How many affordable subsets are tried where there are too many to try all."""
FEWEST_RIVALS = 5
"""So many are tried even where each takes long."""
MOST_LOOKUPS = 100_000_000
"""The most work, in sampled states times subsets, for trying affordable subsets on a sample."""
FEWEST_SAMPLES = 1000
"""With fewer instances than this a sample says too little."""
MOST_DRAWS = 20
"""How many instances are drawn for each that is asked for, where most disagree with the evidence."""
CELLS = 2**22
"""How many state numbers are handled at once."""
HARDLY = 10**6
"""Posteriors this many times nearer to the threshold than 0 and 1 are hardly beside it."""
TINY = 1e-200
"""Of smaller thresholds it cannot be told which instances lie too near them for floats."""
CLEAR_GAP = 1e-9
"""Posteriors further apart than this surely differ, whatever rounding did to them."""


class Judge(Protocol):
    """Finds how often decisions agree, exactly or from a sample."""

    basis: str
    exact: bool
    own: float
    """How often the chosen subset agrees, at least."""

    def misstated(self, choice: Choice) -> str:
        """Find an agreement that is not what it is said to be."""

    def uneven(self, choice: Choice) -> str:
        """Find thresholds in the stated interval that do better or worse than the new one."""

    def mattering(self, names: Features) -> str:
        """Find decisions that change with features that are called irrelevant."""

    def untied(self, mass: float) -> str:
        """Find that instances at the old threshold, or hardly beside it, have another mass."""

    def lead(self, features: Features) -> float:
        """Return how much more often some features agree than the chosen ones, at least."""

    def most_subsets(self) -> int:
        """Return how many subsets may be tried."""


class _Behaviours(NamedTuple):
    """What thresholds do to some features: those with limits[i-1] < T ≤ limits[i] agree in agreeing[i] of the mass."""

    limits: list[float]
    agreeing: list[int]

    def at(self, threshold: float) -> int:
        """Return the mass that agrees at a threshold."""
        return self.agreeing[bisect_left(self.limits, threshold)]

    def within(self, low: float, high: float) -> list[int]:
        """Return the masses that agree at the thresholds of an interval."""
        return self.agreeing[bisect_right(self.limits, low) : bisect_left(self.limits, high) + 1]


class Enumeration:
    """Judges by the probabilities of all instances, as integers [states of each feature…] on a common scale."""

    exact = True

    def __init__(self, result: Trimming, table: reference.Table, scale: int) -> None:
        self._problem = result.problem
        variables = [v for v in table.classifier.feature_variables if len(v) > 1]
        self._axes = [variable.name for variable in variables]
        shape = [len(variable) for variable in variables]
        self._positive, self._mass, self._decided = (np.zeros(shape, dtype=object) for _ in range(3))
        places = [table.classifier.features.index(name) for name in self._axes]
        for instance, mass in table.mass.items():
            cell = tuple(v.index(instance[place]) for v, place in zip(variables, places, strict=True))
            self._mass[cell] = int(mass * scale)
            self._positive[cell] = int(table.positive[instance] * scale)
            self._decided[cell] = self._mass[cell] * table.decided[instance]
        self._whole = int(table.total * scale)
        self.basis = f"by brute force over all instances ({len(table.mass):,})"
        self.own = self._behaviours(result.features).at(result.threshold) / self._whole

    def most_subsets(self) -> int:
        """See `Judge`."""
        return min(MOST_SUBSETS, MOST_ADDITIONS // self._mass.size)

    def misstated(self, choice: Choice) -> str:
        """See `Judge`."""
        value = self._behaviours(choice.features).at(choice.threshold) / self._whole
        low, high = _allowed(choice.agreement)
        if low <= value <= high:
            return ""
        return f"{in_words(choice.features)}: said to agree {choice.agreement}, but it is {value:.9g} {self.basis}"

    def uneven(self, choice: Choice) -> str:
        """See `Judge`."""
        behaviours = self._behaviours(choice.features)
        value = behaviours.at(choice.threshold)
        worst = (
            max((abs(other - value) for other in behaviours.within(*interval_ends(choice))), default=0) / self._whole
        )
        return f"agreement varies by {worst:.2g} in {choice.thresholds} {self.basis}" if worst > TOLERANCE else ""

    def mattering(self, names: Features) -> str:
        """See `Judge`."""
        classifier = self._problem.classifier
        rest = tuple(name for name in classifier.features if name not in names)
        changed = self._whole - self._behaviours(rest).at(classifier.threshold)
        return f"without them {changed / self._whole:.2g} of decisions change {self.basis}" if changed else ""

    def untied(self, mass: float) -> str:
        """See `Judge`."""
        threshold = reference.rational(self._problem.classifier.threshold)
        apart = abs(self._positive * threshold.denominator - self._mass * threshold.numerator) * HARDLY
        hardly = self._mass * min(threshold.numerator, threshold.denominator - threshold.numerator)
        least, most = (int(self._mass[near].sum()) / self._whole for near in (apart == 0, apart <= hardly))
        if threshold < TINY:  # products of floats may lose their digits there, and decide nothing
            most = 1.0
        if least - TOLERANCE <= mass <= most + TOLERANCE:
            return ""
        return f"said to be {mass:.9g}, but instances of {least:.9g} lie there and of {most:.9g} near {self.basis}"

    def lead(self, features: Features) -> float:
        """See `Judge`."""
        behaviours = self._behaviours(features)
        if self._problem.threshold == "keep":
            return behaviours.at(self._problem.classifier.threshold) / self._whole - self.own
        return max(behaviours.agreeing) / self._whole - self.own

    def _behaviours(self, features: Features) -> _Behaviours:
        dropped = tuple(axis for axis, name in enumerate(self._axes) if name not in features)
        sums = (np.asarray(array.sum(axis=dropped)) for array in (self._positive, self._mass, self._decided))
        cells = zip(*(array.ravel().tolist() for array in sums), strict=True)
        gains: dict[float, int] = {}  # of turning the instances with a posterior from positive to negative
        for positive, mass, decided in cells:
            if mass:
                limit = _limit(positive, mass)
                gains[limit] = gains.get(limit, 0) + mass - 2 * decided
        limits, agreeing = sorted(gains), [int(self._decided.sum())]
        for limit in limits:
            agreeing.append(agreeing[-1] + gains[limit])
        return _Behaviours(limits, agreeing)


def _limit(positive: int, mass: int) -> float:
    """Return the largest threshold that a posterior reaches: the last whose shortest decimal it does not fall below."""
    near = positive / mass
    while (written := reference.rational(near)).numerator * mass > positive * written.denominator:
        near = math.nextafter(near, -1.0)
    return near


def count_all(result: Trimming) -> Enumeration | None:
    """Return a judge by brute force, or None where instances are too many or their probabilities too long."""
    classifier = result.problem.classifier
    if isinstance(classifier, GaussianNaiveBayes):
        return None
    needed = classifier.network.ancestral([classifier.target, *classifier.features, *classifier.evidence])
    if math.prod(len(variable) for variable in needed.variables) > MOST_WORLDS:
        return None
    table = reference.Table(classifier)
    scale = 1
    for probability in (*table.mass.values(), *table.positive.values()):
        scale = math.lcm(scale, probability.denominator)
        if scale.bit_length() * len(table.mass) > MOST_BITS:
            return None
    return Enumeration(result, table, scale)


class Sampling:
    """Judges by instances drawn from the network, as state numbers [instances, features]."""

    exact = False

    def __init__(self, result: Trimming, rows: npt.NDArray[Any]) -> None:
        self._problem = result.problem
        self._classifier = result.problem.classifier
        self._rows = rows
        self._decided = self._decide(self._classifier)
        self._same = self._decide(result.classifier) == self._decided
        # Thresholds of rivals are chosen on other instances than they are judged by.
        self._practice = slice(0, len(rows) // 5)
        self._trial = slice(len(rows) // 5, len(rows))
        self.basis = f"on a sample of {len(rows):,} instances"
        # What is overstated must not make subsets seem better than they are: they are compared with it.
        self.own = min(result.agreement.lower, float(self._same.mean()))
        self._kept = len(result.features)

    def most_subsets(self) -> int:
        """See `Judge`."""
        return max(FEWEST_RIVALS, min(MOST_RIVALS, MOST_LOOKUPS // (len(self._rows) * (1 + self._kept))))

    def misstated(self, choice: Choice) -> str:
        """See `Judge`."""
        share = float(np.mean(self._agreeing(choice.features, choice.threshold)))
        low, high = _allowed(choice.agreement)
        # Chernoff: a share as far off as this has at most the probability exp(-n·divergence), on either side.
        divergence = _divergence(share, low if share < low else high) if not low <= share <= high else 0.0
        if len(self._rows) * divergence <= math.log(2 / FALSE_ALARM):
            return ""
        return f"{in_words(choice.features)}: said to agree {choice.agreement}, but it is {share:.4f} {self.basis}"

    def uneven(self, choice: Choice) -> str:
        """See `Judge`."""
        new, (low, high) = choice.threshold, interval_ends(choice)
        # A hair inside, where posteriors that equal the lower end are surely below.
        ends = (0.0 if low < 0 else low + 1e-4 * (new - low), NEVER_POSITIVE if high > 1 else high)
        same = self._agreeing(choice.features, new).astype(float)
        for end in ends:
            difference = self._agreeing(choice.features, end) - same
            if abs(difference.mean()) > 2 * TOLERANCE + _radius(difference, FALSE_ALARM):
                return f"{end:.6g} in {choice.thresholds} does not agree as often as {new:.6g} {self.basis}"
        return ""

    def mattering(self, names: Features) -> str:
        """See `Judge`."""
        rest = [name for name in self._classifier.features if name not in names]
        changed = self._decide(self._classifier.restricted(rest)) != self._decided
        limit = self._classifier.threshold
        # Ties may be out of reach of exact arithmetic with some features and within reach without them.
        posteriors = self._posteriors(self._classifier, slice(None))
        changed &= np.abs(posteriors - limit) > 1e-6 * limit * (1 - limit) + 1e-15
        return f"without them {changed.mean():.2g} of decisions change {self.basis}" if changed.any() else ""

    def untied(self, mass: float) -> str:
        """See `Judge`."""
        return ""  # a sample can tell nothing of what is so rare

    def lead(self, features: Features) -> float:
        """See `Judge`."""
        threshold = self._classifier.threshold
        if self._problem.threshold == "optimal":
            posteriors = self._posteriors(self._classifier.restricted(features), self._practice)
            threshold = _best_cut(posteriors, self._decided[self._practice])
        same = self._agreeing(features, threshold, self._trial)
        difference = same.astype(float) - self._same[self._trial]
        return float(difference.mean()) - _radius(difference, FALSE_ALARM / MOST_RIVALS)

    def _agreeing(self, features: Features, threshold: float, part: slice = slice(None)) -> BoolArray:
        same: BoolArray = self._decide(self._classifier.restricted(features, threshold), part) == self._decided[part]
        return same

    def _decide(self, classifier: Classifier, part: slice = slice(None)) -> BoolArray:
        return np.concatenate([classifier.decide(rows) for rows in self._batches(classifier, part)])

    def _posteriors(self, classifier: Classifier, part: slice) -> npt.NDArray[np.float64]:
        return np.concatenate([classifier.posterior(rows) for rows in self._batches(classifier, part)])

    def _batches(self, classifier: Classifier, part: slice) -> Iterator[npt.NDArray[np.int64]]:
        places = [self._classifier.features.index(name) for name in classifier.features]
        size = max(1, CELLS // max(1, len(places)))
        rows = self._rows[part]
        for start in range(0, len(rows), size):
            batch = rows[start : start + size, places]
            yield batch if batch.dtype.kind == "f" else batch.astype(np.int64)


def draw_some(result: Trimming, samples: int, seed: int) -> Sampling | str:
    """Return a judge by sampling, or why there is none."""
    try:
        rows = _draw(result.problem.classifier, samples, seed)
        if len(rows) < FEWEST_SAMPLES:
            return f"only {len(rows):,} of {MOST_DRAWS * samples:,} instances drawn agree with the evidence"
        return Sampling(result, rows)
    except TooLargeError as error:
        return f"sampled instances cannot be decided: {error}"


def _draw(classifier: Classifier, samples: int, seed: int) -> npt.NDArray[Any]:
    """Return instances of the features that agree with the evidence, as state numbers [instances, features]."""
    generator = np.random.default_rng(seed)
    if isinstance(classifier, GaussianNaiveBayes):
        return classifier.sample(samples, generator)
    network = classifier.network.ancestral([classifier.target, *classifier.features, *classifier.evidence])
    smallest = np.min_scalar_type(max(len(variable) for variable in network.variables))
    size = min(samples, max(1, CELLS // len(network.variables)))
    found: list[npt.NDArray[Any]] = []
    drawn = accepted = 0
    while accepted < samples and drawn < MOST_DRAWS * samples:
        codes = inference.sample(network, size, generator)
        fitting = np.ones(size, dtype=bool)
        for name, code in classifier.evidence_codes.items():
            fitting &= codes[name] == code
        rows = np.empty((int(fitting.sum()), len(classifier.features)), dtype=smallest)
        for place, name in enumerate(classifier.features):
            rows[:, place] = codes[name][fitting]
        found.append(rows)
        drawn, accepted = drawn + size, accepted + len(rows)
    return np.concatenate(found)[:samples]


def _best_cut(posteriors: npt.NDArray[np.float64], decided: BoolArray) -> float:
    """Return the threshold that agrees most often with decisions, well between posteriors that surely differ."""
    order = np.argsort(posteriors)
    ranked = posteriors[order]
    agreeing = decided.sum() + np.concatenate([[0], np.cumsum(1 - 2 * decided[order].astype(np.int64))])
    clear = np.concatenate([[True], np.diff(ranked) > CLEAR_GAP, [True]])
    best = int(np.argmax(np.where(clear, agreeing, -1)))
    if best == 0:
        return 0.0
    return NEVER_POSITIVE if best == len(ranked) else float(ranked[best - 1] + ranked[best]) / 2


def _radius(differences: npt.NDArray[np.float64], chance: float) -> float:
    """Return how far a mean of numbers from -1 to 1 may be off, by the empirical Bernstein bound of Maurer and Pontil.

    Unlike Hoeffding's it profits from instances on which both classifiers do the same, which most are.
    """
    logarithm, count = math.log(4 / chance), len(differences)
    return math.sqrt(2 * float(differences.var(ddof=1)) * logarithm / count) + 14 * logarithm / (3 * (count - 1))


def _divergence(share: float, chance: float) -> float:
    """Return the relative entropy of a coin that shows a share from one that shows a chance."""
    pairs = ((share, chance), (1 - share, 1 - chance))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in pairs if p > 0)


def _allowed(agreement: Interval) -> tuple[float, float]:
    """Return where an agreement must lie; a statistical interval is widened to what a false alarm would need."""
    slack = TOLERANCE
    if agreement.kind == "statistical":
        doubt = 1 - (agreement.confidence or 0.0)
        slack += agreement.width * (math.log(2 / FALSE_ALARM) / math.log(2 / max(doubt, FALSE_ALARM)) - 1)
    return agreement.lower - slack, agreement.upper + slack


def interval_ends(choice: Choice) -> tuple[float, float]:
    """Return the ends of the interval of thresholds that are said to do equally well."""
    return choice.thresholds.low, choice.thresholds.high


def in_words(features: Features) -> str:
    """Return the names of features as they are told."""
    return ", ".join(features) or "the empty set"
