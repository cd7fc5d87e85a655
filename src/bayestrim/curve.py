"""The budget curve: what each amount of money buys."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from bayestrim.errors import MissingPackageError, ProblemError
from bayestrim.problem import TrimProblem
from bayestrim.result import Interval, ThresholdInterval
from bayestrim.trimming import SearchStats, Status, StopReason, Trimming

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class CurvePoint:
    """The most that can be had for a cost, where spending less buys less.

    Attributes
    ----------
    cost
        What the features cost.
    agreement
        How often decisions stay the same.
    bound
        Nothing that costs no more agrees more often than this.
    status
        Whether the point is proved to be the best for its cost.
    features
        What is kept.
    threshold, thresholds
        The new threshold, and all that decide the same.
    result
        The same as a result, whose budget is the cost.
    """

    cost: float
    agreement: Interval
    bound: float
    status: Status
    features: tuple[str, ...]
    threshold: float
    thresholds: ThresholdInterval
    result: Trimming = field(repr=False)

    @classmethod
    def of(cls, result: Trimming) -> CurvePoint:
        """Return the point of a result."""
        choice = result.choice
        return cls(
            choice.cost,
            choice.agreement,
            result.bound,
            result.status,
            choice.features,
            choice.threshold,
            choice.thresholds,
            result,
        )


@dataclass(frozen=True)
class BudgetCurve:
    """Every worthwhile pair of cost and agreement, cheapest first: each point agrees more often than all cheaper ones.

    Attributes
    ----------
    problem
        What was asked; its budget is the end of the curve.
    points
        The points.
    stop_reason
        Why the search ended; unless everything was searched, some points may be missing or not the best.
    stats
        What it took.
    """

    problem: TrimProblem
    points: tuple[CurvePoint, ...]
    stop_reason: StopReason
    stats: SearchStats

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[CurvePoint]:
        return iter(self.points)

    @overload
    def __getitem__(self, place: int) -> CurvePoint: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[CurvePoint, ...]: ...
    def __getitem__(self, place: int | slice) -> CurvePoint | tuple[CurvePoint, ...]:
        return self.points[place]

    @property
    def proved(self) -> bool:
        """Whether every point is proved to be the best for its cost, and no point is missing."""
        return self.stop_reason is StopReason.EXHAUSTED and all(p.status is Status.OPTIMAL for p in self.points)

    def cheapest(self, agreement: float = 0.99) -> CurvePoint:
        """Return the cheapest point that agrees at least so often."""
        for point in self.points:
            if point.agreement.lower >= agreement - ALMOST:
                return point
        best = max((point.agreement.lower for point in self.points), default=0.0)
        raise ProblemError(f"no point of the curve agrees in {agreement:g} of decisions; the best agrees in {best:.6g}")

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a pandas data frame, one row for each point."""
        try:
            import pandas as pd  # noqa: PLC0415
        except ImportError:
            raise MissingPackageError("to_frame needs pandas: pip install pandas") from None
        rows: list[dict[str, Any]] = [
            {
                "cost": point.cost,
                "agreement": float(point.agreement),
                "lower": point.agreement.lower,
                "upper": point.agreement.upper,
                "bound": point.bound,
                "status": point.status.name,
                "features": list(point.features),
                "threshold": point.threshold,
            }
            for point in self.points
        ]
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        """Return the curve as a table."""
        table = io.StringIO()
        wide = max([len(f"{point.cost:g}") for point in self.points] + [4])
        table.write(f"{'cost':>{wide}}  agreement  threshold  {'proof':<8}  features\n")
        for point in self.points:
            proof = "best" if point.status is Status.OPTIMAL else "not yet"
            kept = ", ".join(point.features) or "nothing"
            share, cut = f"{point.agreement.lower:.4%}", f"{point.threshold:.6f}"
            table.write(f"{point.cost:>{wide}g}  {share:>9}  {cut:>9}  {proof:<8}  {kept}\n")
        return table.getvalue().rstrip("\n")


ALMOST = 1e-12
"""Agreements are sums of floats."""
