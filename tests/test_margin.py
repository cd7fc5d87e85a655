"""The margin of a lattice against the mass of wrong decisions, instance by instance."""

from __future__ import annotations

import itertools
import math
from random import Random

import generators
import numpy as np
import numpy.typing as npt
import pytest

import bayestrim as bt
from bayestrim.engines import margin
from bayestrim.engines.grid import lattice_values, make_grid
from bayestrim.engines.independent import independent
from bayestrim.kernels.lattice import Lattice

Floats = npt.NDArray[np.float64]
CASES = 150


def naive_bayes(random: Random) -> bt.Classifier:
    """Return a classifier of all digits, some values impossible under one class, whose sums come near the border."""
    tables = []
    for _ in range(random.randint(4, 8)):
        weights = [[random.random() for _ in range(random.choice([2, 2, 2, 3]))] for _ in range(2)]
        weights[1] = [random.random() for _ in weights[0]]
        if random.random() < 0.2:
            weights[random.randrange(2)][0] = 0.0
        tables.append([[weight / sum(row) for weight in row] for row in weights])
    variables = [bt.Variable(f"F{i}", tuple(f"s{j}" for j in range(len(t[0])))) for i, t in enumerate(tables)]
    network = bt.BayesianNetwork(
        [bt.Variable("C", ("c", "not c")), *variables],
        {variable.name: ["C"] for variable in variables},
        {"C": [0.4, 0.6], **{variable.name: t for variable, t in zip(variables, tables, strict=True)}},
    )
    return bt.Classifier(network, "C", "c", threshold=random.uniform(0.2, 0.8))


class Case:
    """A lattice, the errors of its values, and the mass that it decides wrongly."""

    def __init__(self, seed: int) -> None:
        random = Random(seed)
        model = independent(naive_bayes(random) if seed % 3 else generators.random_naive_bayes(random, 5))
        assert model is not None
        cells = random.choice([4, 9, 20, 50])
        self.lattice: Lattice = make_grid(model, model.features, cells, margin=False).lattice
        values = [lattice_values(feature, self.lattice.step) for feature in model.features]
        self.error = np.concatenate([np.empty(0), *(value.error for value in values)])
        self.gap = model.border - float(self.lattice.offset.sum())
        self.noise = random.choice([0.0, 1e-9, 0.1 * self.lattice.step])
        starts = self.lattice.start.tolist()
        self.wrong = 0.0
        for chosen in itertools.product(*(range(begin, end) for begin, end in itertools.pairwise(starts))):
            places = list(chosen)
            steps, rest = int(self.lattice.shift[places].sum()), math.fsum(self.error[places])
            total = self.lattice.step * steps + rest - self.gap
            if total < self.noise if steps >= self.lattice.t else total >= -self.noise:
                self.wrong += self.lattice.prior * math.prod(self.lattice.p[places])
                self.wrong += (1 - self.lattice.prior) * math.prod(self.lattice.q[places])

    def bound(self, error: Floats | None = None) -> float:
        """Return what is said of it."""
        return margin.flips(self.lattice, self.error if error is None else error, self.gap, self.noise)


def cases() -> list[Case]:
    """Return the lattices of all seeds."""
    return [Case(seed) for seed in range(CASES)]


@pytest.fixture(params=["followed", "by moments", "together"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Errors are followed, or bounded by exponential moments, those of each cell or those of all cells together."""
    if request.param != "followed":
        monkeypatch.setattr(margin, "MOST_WORK", 0)
    if request.param == "together":
        monkeypatch.setattr(margin, "FARTHEST", -1e9)
    return str(request.param)


def test_no_less_is_wrong_than_the_margin_says(way: str) -> None:
    """The margin is never less than what is wrong, nor very much more where anything is."""
    ratios = []
    for case in cases():
        bound = case.bound()
        assert bound >= case.wrong - 1e-12
        if case.wrong > 1e-6:
            ratios.append(bound / case.wrong)
    assert len(ratios) > CASES / 3
    assert np.median(ratios) < {"followed": 1.2, "by moments": 5, "together": 1e4}[way]


@pytest.mark.parametrize("way", ["followed", "by moments"], indirect=True)
def test_errors_of_the_wrong_sign_are_caught(way: str) -> None:
    """What would follow the errors the other way says too little somewhere."""
    assert any(case.bound(-case.error) < case.wrong - 1e-9 for case in cases())
