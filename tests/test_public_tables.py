"""The committed public tables are whole, and the classifiers learnt from them are what they say."""

from __future__ import annotations

import gzip
import hashlib
import re

import numpy as np
import pytest

from benchmarks import datasets

README = (datasets.FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", datasets.POSITIVE)
def test_tables_are_as_documented(name: str) -> None:
    """Rows, features and checksum are those of the page beside the files."""
    data = datasets.load(name)
    row = re.search(rf"^\| {name} \| .* \| (\d+) \| (\d+) \| ([^,|]+),", README, re.MULTILINE)
    assert row is not None
    assert (len(data), len(data.features)) == (int(row[1]), int(row[2]))
    assert row[3] == datasets.POSITIVE[name]
    assert 0 < data.positive.sum() < len(data)
    digest = hashlib.sha256(gzip.decompress((datasets.FOLDER / f"{name}.csv.gz").read_bytes())).hexdigest()
    assert f"| {name} | `{digest}` |" in README


def test_the_loader_refuses_unknown_tables() -> None:
    """An unknown name is answered with the known ones."""
    with pytest.raises(SystemExit, match="known: bupa"):
        datasets.load("iris")


def test_what_is_missing_says_nothing() -> None:
    """A gap adds nothing to the log-odds, and other rows add what the tables say."""
    data = datasets.load("hepatitis")
    model = datasets.learn(data)
    codes = model.codes(data.cells)
    said = model.log_odds(codes)
    assert (codes == -1).sum() == (data.cells == datasets.MISSING).sum() > 0
    assert (said[codes == -1] == 0).all()
    first = int(codes[0, 0])
    assert said[0, 0] == pytest.approx(np.log(model.tables[0][1, first] / model.tables[0][0, first]))


@pytest.mark.parametrize("name", ["pima", "hepatitis", "german"])
def test_learnt_classifiers_decide_as_their_log_odds_say(name: str) -> None:
    """The package's classifier and the arrays of the benchmarks decide alike, gaps included."""
    data = datasets.load(name)
    model = datasets.learn(data, np.arange(0, len(data), 2))
    codes = model.codes(data.cells)
    by_sum = model.log_odds(codes).sum(axis=1) + model.bias
    clear = np.abs(by_sum) > 1e-9
    assert (model.classifier().decide(codes)[clear] == (by_sum >= 0)[clear]).all()
    assert clear.mean() > 0.9


def test_the_best_cut_leaves_least_entropy() -> None:
    """On three values, the cut falls where the class changes."""
    numbers = np.array([1.0, 1.0, 2.0, 3.0, 3.0])
    assert datasets.best_cut(numbers, np.array([True, True, False, False, False])) == 1.5
    assert datasets.best_cut(numbers, np.array([True, True, True, False, False])) == 2.5
