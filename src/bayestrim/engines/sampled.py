"""The sampled engine: for feature spaces that no table holds.

Instances are drawn from the network, and each is decided exactly by inference on all its features. What a subset can do
is counted on one sample, on which searches look for good ones; how often the winner really agrees is counted on a
second sample that no search has seen. Posteriors are exact throughout: only expectations are sampled.

Under a time limit, both samples are drawn and decided by turns, batch by batch, for half of the time that is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from bayestrim.binomial import clopper_pearson
from bayestrim.classifier import Classifier
from bayestrim.contraction import endless
from bayestrim.engines.cut import cut_sides
from bayestrim.engines.relevance import sorted_out
from bayestrim.errors import TooLargeError
from bayestrim.inference import ClassMasses, joint_table, sample
from bayestrim.network import FloatArray
from bayestrim.result import Interval, MaxAgreement, ThresholdInterval
from bayestrim.rows import IntArray, distinct

SAMPLES = 1 << 15
"""Instances of each sample, if it is not said how many and they are quickly decided."""
FEWEST = 1 << 9
"""Instances of each sample that say at least something."""
WORK = 1 << 31
"""Multiplications, for deciding one sample, from which fewer instances are drawn: some ten seconds' work."""
MOST_WORK = 1 << 32
"""Networks on which the fewest instances take more than this are refused."""
CONFIDENCE = 0.99
"""The confidence of all intervals."""
MOST_DRAWS = 50
"""How many instances are drawn for each that is wanted, where most disagree with the evidence."""
DRAWN = 1 << 19
"""State numbers drawn at a time."""
BATCH_WORK = 1 << 23
"""Multiplications, for deciding instances, between two looks at the clock: less than a tenth of a second's work."""
SHARES = (0.9, 0.8, 0.5)
"""Shares of the time left that must still be left when the first sample is drawn, the second, and both are decided."""
MOST_LISTED = 1 << 20
"""Up to so many instances of a subset are listed to see which thresholds decide alike."""
ONE = 1.0
"""The weight, in instances, of what is expected of those that were not drawn."""


@dataclass(frozen=True)
class Sample:
    """Instances drawn from a network.

    Attributes
    ----------
    codes
        State numbers [distinct instances, features].
    counts
        How often each was drawn.
    decided
        The classifier's decision of each.
    posterior
        Pr(positive | instance) of each.
    """

    codes: IntArray
    counts: IntArray
    decided: npt.NDArray[np.bool_]
    posterior: FloatArray

    @property
    def size(self) -> int:
        """How many instances were drawn."""
        return int(self.counts.sum())


class SampledEngine:
    """Answers from samples: statistical intervals, never proofs.

    Parameters
    ----------
    classifier
        The classifier all questions are about.
    samples
        How many instances are drawn for either sample.
    seed
        The same seed draws the same.
    irrelevant
        Features that are known not to matter.
    left
        Tells how many seconds are left.
    """

    name = "sampled"

    def __init__(
        self,
        classifier: Classifier,
        samples: int | None = None,
        seed: int | None = None,
        irrelevant: Sequence[str] = (),
        left: Callable[[], float] = endless,
    ) -> None:
        # It must not hold the classifier itself, whose life bounds its own (see `engine_for`): a copy is held instead.
        self.features, self.irrelevant = sorted_out(classifier, irrelevant)
        self._classifier = classifier.restricted(self.features)
        self.sizes = tuple(len(variable) for variable in self._classifier.feature_variables)
        self._masses = ClassMasses(
            self._classifier.network, classifier.target, self.features, self._classifier.evidence_codes
        )
        self._samples = self._affordable_samples() if samples is None else samples
        self._left = left
        seeds = np.random.SeedSequence(0 if seed is None else seed).spawn(2)
        self._generators = [np.random.default_rng(sequence) for sequence in seeds]

    @property
    def practice(self) -> Sample:
        """The sample on which searches look for good subsets."""
        return self._both[0]

    @property
    def trial(self) -> Sample:
        """The sample on which the winners are judged, and no others."""
        return self._both[1]

    def _affordable_samples(self) -> int:
        """Return how many instances can be decided in some seconds, no fewer than say something."""
        each = self._masses.operations
        if each * FEWEST > MOST_WORK:
            raise TooLargeError(
                f"deciding one instance takes {each:,} multiplications, too many to decide even {FEWEST}; give "
                "Classifier fewer features, or say Limits(samples=…) and wait"
            )
        return max(FEWEST, min(SAMPLES, WORK // each))

    @cached_property
    def _both(self) -> tuple[Sample, Sample]:
        """Both samples, of one size: as many instances as are wanted, or as the time allows, but some."""
        left = self._left()
        first, second = (
            self._draw(generator, left * share) for generator, share in zip(self._generators, SHARES[:2], strict=True)
        )
        batch = max(1, BATCH_WORK // max(1, self._masses.operations))
        parts: list[tuple[Sample, Sample]] = []
        for start in range(0, min(len(first), len(second)), batch):
            inside = slice(start, min(start + batch, len(first), len(second)))
            parts.append((self._decide(first[inside]), self._decide(second[inside])))
            if self._is_after(left * SHARES[2]):
                break
        return _merged([part for part, _ in parts]), _merged([part for _, part in parts])

    def _is_after(self, stop: float) -> bool:
        """Tell whether no more time is left than is said, or none at all."""
        left = self._left()
        return left <= 0 or left <= stop < math.inf

    def _draw(self, generator: np.random.Generator, stop: float) -> IntArray:
        """Return instances [instances, features] that agree with the evidence."""
        classifier, network = self._classifier, self._classifier.network
        size = max(1, min(self._samples, DRAWN // len(network.names)))
        found: list[IntArray] = []
        drawn = accepted = 0
        while accepted < self._samples and not (accepted and self._is_after(stop)):
            if drawn > MOST_DRAWS * self._samples:
                raise TooLargeError(
                    f"the evidence is too rare to draw instances that agree with it: {accepted:,} of {drawn:,} did"
                )
            codes = sample(network, size, generator)
            fitting = np.ones(size, dtype=bool)
            for name, code in classifier.evidence_codes.items():
                fitting &= codes[name] == code
            rows = np.stack([codes[name][fitting] for name in self.features], axis=1) if self.features else None
            found.append(np.zeros((int(fitting.sum()), 0), dtype=np.int64) if rows is None else rows)
            drawn, accepted = drawn + size, accepted + len(found[-1])
        return np.concatenate(found)[: self._samples]

    def _decide(self, drawn: IntArray) -> Sample:
        """Decide instances exactly."""
        classifier = self._classifier
        rows, which = distinct(drawn)
        masses, states = self._masses(rows), classifier.positive_states
        positive, negative = masses[states].sum(axis=0), masses[~states].sum(axis=0)
        decided = classifier.exact_posteriors.decide(positive, negative, rows, classifier.threshold)
        return Sample(rows, np.bincount(which, minlength=len(rows)), decided, positive / (positive + negative))

    @property
    def tie_mass(self) -> float:
        """The share of instances drawn whose posterior is so near the threshold that rounding could decide it."""
        threshold, posterior = self._classifier.threshold, self.practice.posterior
        near = np.abs(posterior - threshold) <= self._classifier.exact_posteriors.band * threshold * (1 - threshold)
        return float(self.practice.counts[near].sum() / self.practice.size)

    def columns(self, features: Sequence[str]) -> list[int]:
        """Return the columns of some features in the samples."""
        return [i for i, name in enumerate(self.features) if name in features]

    def share(self, features: Sequence[str], threshold: float, of: Sample) -> int:
        """Return how many instances of a sample the trimmed classifier decides as the original does."""
        kept = self.columns(features)
        codes, which = distinct(of.codes[:, kept])
        new = self._classifier.restricted([self.features[i] for i in kept], threshold).decide(codes)[which]
        return int(of.counts[new == of.decided].sum())

    def practised(self, features: Sequence[str], threshold: float | None) -> float:
        """Return the share of the first sample that agrees, under the best threshold or the given one."""
        if threshold is None:
            return self.best_threshold(features)[1]
        return self.share(features, threshold, self.practice) / self.practice.size

    def eca(self, features: Sequence[str], threshold: float) -> Interval:
        """Return the expected agreement with the classifier that keeps the features and uses the threshold."""
        return self._interval(self.share(features, threshold, self.trial))

    def _interval(self, hits: int) -> Interval:
        low, high = clopper_pearson(hits, self.trial.size, CONFIDENCE)
        return Interval(low, high, "statistical", CONFIDENCE)

    def mpa(self, features: Sequence[str]) -> Interval:
        """Return the maximum potential agreement of the features.

        The rule that is best on the first sample reaches at least what it does on the second. The rule that is best on
        the second seems better than any is, on average, and differs from that average by little (McDiarmid).
        """
        kept, trial = self.columns(features), self.trial
        codes, which = distinct(np.concatenate([self.practice.codes[:, kept], trial.codes[:, kept]]))
        first, second = which[: len(self.practice.codes)], which[len(self.practice.codes) :]
        votes = np.bincount(first, np.where(self.practice.decided, 1, -1) * self.practice.counts, len(codes))
        reached = self._interval(int(trial.counts[(votes >= 0)[second] == trial.decided].sum()))
        by_decision = [np.bincount(second[d], trial.counts[d], len(codes)) for d in (trial.decided, ~trial.decided)]
        seeming = float(np.maximum(*by_decision).sum() / trial.size)
        off = math.sqrt(math.log(2 / (1 - CONFIDENCE)) / (2 * trial.size))
        return Interval(reached.lower, min(1.0, max(reached.upper, seeming + off)), "statistical", CONFIDENCE)

    def maa(self, features: Sequence[str]) -> MaxAgreement:
        """Return the best threshold on the first sample, and how often it agrees on the second."""
        thresholds, _ = self.best_threshold(features)
        threshold = thresholds.pick(self._classifier.threshold)
        return MaxAgreement(self.eca(features, threshold), thresholds, threshold)

    def best_threshold(self, features: Sequence[str]) -> tuple[ThresholdInterval, float]:
        """Return the thresholds that agree best with the first sample, and the share of it that agrees."""
        kept = self.columns(features)
        names = [self.features[i] for i in kept]
        codes, sides = self._instances(names)
        seen, counts = self._counts(kept, codes)
        limit = self._classifier.threshold
        expected = sides.sum(axis=0) / sides.sum() * ONE  # so that no cut is as good as another for want of instances
        positive = sides[0] >= limit * sides.sum(axis=0)
        decided = (counts + np.stack([expected * positive, expected * ~positive])) / (seen + ONE)
        exact = self._classifier.exact_posteriors.of(names)

        def posteriors(chosen: IntArray) -> list[Fraction | None]:
            return exact.posteriors(codes[chosen])

        best = cut_sides(sides, decided, posteriors, limit, exact.band)
        return best.thresholds, best.value

    def _instances(self, names: Sequence[str]) -> tuple[IntArray, FloatArray]:
        """Return all possible instances of some features, or those that were drawn, and their class masses."""
        classifier = self._classifier.restricted(names)
        sizes = [len(variable) for variable in classifier.feature_variables]
        if math.prod(sizes) <= MOST_LISTED:
            joint = joint_table(
                classifier.network,
                classifier.target,
                names,
                classifier.evidence_codes,
                positive=classifier.positive_states,
            ).reshape(2, -1)
            possible = np.flatnonzero(joint.sum(axis=0) > 0)
            cells = np.array(np.unravel_index(possible, sizes), dtype=np.int64) if sizes else np.zeros((0, 1), np.int64)
            return cells.T.reshape(len(possible), len(sizes)), np.ascontiguousarray(joint[:, possible])
        codes, which = distinct(self.practice.codes[:, self.columns(names)])
        posterior = classifier.posterior(codes)
        share = np.bincount(which, self.practice.counts) / self.practice.size
        return codes, np.stack([posterior * share, (1 - posterior) * share])

    def _counts(self, kept: Sequence[int], codes: IntArray) -> tuple[int, FloatArray]:
        """Return how many instances were drawn, and how many of each listed one, by decision."""
        every, which = distinct(np.concatenate([codes, self.practice.codes[:, kept]]))
        place = np.full(len(every), -1)
        place[which[: len(codes)]] = np.arange(len(codes))
        at, decided = place[which[len(codes) :]], self.practice.decided
        counts = [np.bincount(at[d], self.practice.counts[d], len(codes)) for d in (decided, ~decided)]
        return self.practice.size, np.stack(counts)


def _merged(parts: Sequence[Sample]) -> Sample:
    """Return several samples as one."""
    codes, counts, decided, posterior = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("codes", "counts", "decided", "posterior")
    )
    rows, which = distinct(codes)
    first = np.zeros(len(rows), dtype=np.int64)
    first[which] = np.arange(len(codes))  # any of those that are alike
    return Sample(rows, np.bincount(which, counts).astype(np.int64), decided[first], posterior[first])
