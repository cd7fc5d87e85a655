"""The larger of the paper's networks at other thresholds and costs, against trying everything."""

from __future__ import annotations

import pytest
from test_golden import THRESHOLDS, assert_all_agree


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("name", ["anatomy", "heart", "voting", "hepatitis"])
def test_other_thresholds_agree_with_trying_everything(name: str, threshold: float) -> None:
    """Nine thresholds, unit costs and odd ones."""
    assert_all_agree(name, threshold)
