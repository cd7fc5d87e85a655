"""Bounds that are subtly wrong, each of which the checks of the right ones must catch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from random import Random
from typing import Any

import generators
import numpy as np
import numpy.typing as npt
import pytest
from judge import Judge, engine_of, fine_faults, grid_faults
from test_kernels import smooth
from test_trim import check, random_problem

import bayestrim as bt
from bayestrim.engines.fine import Fine, fine
from bayestrim.engines.grid import Grid, make_grid, rounding
from bayestrim.engines.independent import Independent
from bayestrim.network import FloatArray
from bayestrim.search import branch, lattices

MOST_CASES = 400


def cases() -> Iterator[tuple[Judge, Any, int, Random]]:
    """Yield classifiers and coarse lattices of the kinds that the right bounds are tested on."""
    for seed in range(MOST_CASES):
        random = Random(seed)
        classifier = smooth(random, 4) if seed % 2 else generators.random_naive_bayes(random, 4)
        engine = engine_of(classifier)
        if engine.model.features and engine.model.finite:
            yield Judge(classifier), engine, random.randint(8, 40), random


def caught_on_grids(make: Callable[..., Grid]) -> bool:
    """Tell whether any lattice of the search, made by a saboteur, is found out; the right ones never are."""
    return any(any(grid_faults(judge, engine, cells, make)) for judge, engine, cells, _ in cases())


def caught_on_fine(make: Callable[..., Fine]) -> bool:
    """Tell the same of the lattices that settle what the search leaves open."""
    return any(any(fine_faults(judge, engine, cells, random, make)) for judge, engine, cells, random in cases())


def test_honest_lattices_are_not_accused() -> None:
    """The checks below accuse none of the real ones."""
    assert not caught_on_grids(make_grid)
    assert not caught_on_fine(fine)


class MinimumOfSums(Grid):
    """Takes the minimum of sums for the sum of minima: one minus the sum over cells of A + B - min."""

    def losses(self, subsets: npt.NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        """Return the merged loss as the lower bound as well."""
        upper = super().losses(subsets)[1]
        return upper, upper


def test_the_minimum_of_sums_is_no_bound() -> None:
    """The invalid bound that reads whole cells is found out, though it is wrong in few cells and by little."""

    def careless(*arguments: Any, **options: Any) -> Grid:
        grid = make_grid(*arguments, **options)
        return MinimumOfSums(grid.features, grid.lattice, grid.margin)

    assert caught_on_grids(careless)


class MinimumOfSumsFine(Fine):
    """Does the same on the lattices that settle."""

    @cached_property
    def _cells(self) -> tuple[FloatArray, FloatArray]:
        merged, gain = super()._cells
        return merged, np.zeros_like(gain)


def test_the_minimum_of_sums_is_no_bound_on_fine_lattices_either() -> None:
    """Nor where one loss is settled."""

    def careless(*arguments: Any) -> Fine:
        right = fine(*arguments)
        return MinimumOfSumsFine(right.model, right.kept, right.dropped, right.step, right.margin)

    assert caught_on_fine(careless)


def test_bounds_without_slack_for_rounding_floats_are_caught() -> None:
    """Sums in floats miss fractions by their last digits, which only the slack allows for."""

    def tight(model: Independent, features: Any, cells: int, **options: Any) -> Grid:
        grid = make_grid(model, features, cells, **options)
        return replace(grid, margin=grid.margin - rounding(model, int(grid.lattice.span.sum()) + 1))

    assert caught_on_grids(tight)


def test_bounds_without_slack_for_rounding_log_odds_are_caught() -> None:
    """Log-odds in whole steps decide some instances otherwise than they are, which the margin allows for."""

    def tight(model: Independent, features: Any, cells: int, **options: Any) -> Grid:
        return replace(make_grid(model, features, cells, **options), margin=rounding(model, cells))

    def tight_fine(*arguments: Any) -> Fine:
        return replace(fine(*arguments), margin=rounding(arguments[0], arguments[3]))

    assert caught_on_grids(tight)
    assert caught_on_fine(tight_fine)


@pytest.mark.parametrize("shift", [-1, 1])
def test_a_border_that_is_off_by_one_cell_is_caught(shift: int) -> None:
    """The first positive cell is neither the one before nor the one after."""

    def shifted(*arguments: Any, **options: Any) -> Grid:
        grid = make_grid(*arguments, **options)
        t = min(max(grid.lattice.t + shift, 0), int(grid.lattice.span.sum()) + 1)
        cells = grid.lattice.cells if grid.lattice.zeros else t
        return replace(grid, lattice=grid.lattice._replace(t=t, cells=cells))

    def shifted_fine(*arguments: Any) -> Fine:
        right = fine(*arguments)
        return replace(right, kept=replace(right.kept, first=right.kept.first - shift))

    assert caught_on_grids(shifted)
    assert caught_on_fine(shifted_fine)


@pytest.fixture
def _poor_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start searches from nothing, since the usual start finds most optima of small problems by itself."""
    monkeypatch.setattr(branch, "greedy", lambda purse, *_: np.zeros(len(purse.costs), dtype=bool))


def caught_by_brute_force() -> bool:
    """Tell whether comparing searches with brute force, as the tests do, finds anything wrong."""
    for seed in range(MOST_CASES):
        try:
            check(bt.trim(random_problem(Random(seed)), strategy="branch-and-bound"))
        except AssertionError:
            return True
    return False


@pytest.mark.usefixtures("_poor_start")
def test_honest_searches_are_not_accused() -> None:
    """The tree alone finds every optimum."""
    assert not caught_by_brute_force()


@pytest.mark.usefixtures("_poor_start")
def test_pruning_by_less_than_the_margin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that trusts its lattice more than it may leaves the optimum out."""
    monkeypatch.setattr(lattices.Lattices, "margin", lambda *_: -0.02)
    assert caught_by_brute_force()


@pytest.mark.usefixtures("_poor_start")
def test_taking_different_features_for_equal_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features that only have as many states are not equal."""

    def hardly_equal(features: Any, *_: Any) -> list[int]:
        first: dict[int, int] = {}
        return [first.setdefault(len(feature.p), i) for i, feature in enumerate(features)]

    monkeypatch.setattr(branch, "_groups", hardly_equal)
    assert caught_by_brute_force()
