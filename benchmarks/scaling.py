"""How searches grow: ``python -m benchmarks.scaling [--quick] [--resume] [--jobs N] [--efficiency SHARE]``.

Every case of `families` with three seeds, each searched once for up to 60 seconds; the gap after 10 seconds is read
from the events of the same run. Each search has a process to itself, ``--jobs`` of them at a time (by default 2).
``--resume`` takes over what `results/scaling.csv` holds already, so that a run may be interrupted; ``--draw`` searches
nothing and prints and draws what the file holds.

At the end, the growth of the evaluations with the number of features says what an hour buys.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed

import bayestrim as bt
from benchmarks.families import FAMILIES, Case, cases
from benchmarks.growth import SECONDS, Found, growth
from benchmarks.instances import random_naive_bayes
from benchmarks.outputs import FOLDER, is_quick, machine, write_table

QUICK_SECONDS = 1.0
EARLIER = 10.0
"""The gap is also noted after so many seconds."""
SEEDS = 3
HOUR, MACHINES = 3600.0, 100
EFFICIENCY = 0.8
"""The share of a worker's time that is gained by having it, as ``python -m benchmarks.workers`` printed for two."""


def search(case: Case, seed: int) -> Found:
    """Search one instance, noting the gap on the way."""
    instance = case.make(seed)
    told: list[bt.Event] = []
    limits = bt.Limits(seconds=QUICK_SECONDS if is_quick() else SECONDS)
    result = bt.trim(instance.classifier, instance.budget, instance.costs, limits=limits, on_event=told.append)
    last = 0.0 if result.status is bt.Status.OPTIMAL else result.gap
    early = last if result.stats.seconds <= EARLIER else gap_after(EARLIER, told)
    stats = result.stats
    which = (case.family, float(case.value), case.features, seed)
    return Found(*which, stats.nodes, stats.evaluations, round(stats.seconds, 3), _short(early), _short(last))


def _short(gap: float) -> float:
    return float(f"{gap:.2e}")


def gap_after(seconds: float, events: list[bt.Event]) -> float:
    """Return the gap that was known after so many seconds: 1 if nothing was said until then."""
    return next((event.gap for event in reversed(events) if event.seconds <= seconds), 1.0)


def results(resume: bool, jobs: int) -> list[Found]:
    """Search everything that is not known, writing each result down at once."""
    wanted = [(case, seed) for case in chosen() for seed in range(1 if is_quick() else SEEDS)]
    known = {found[:4]: found for found in written()} if resume else {}
    places = [(case.family, case.value, case.features, seed) for case, seed in wanted]
    with ProcessPoolExecutor(jobs, initializer=warm) as pool:
        missing = [pair for pair, place in zip(wanted, places, strict=True) if place not in known]
        for future in as_completed([pool.submit(search, *pair) for pair in missing]):
            found = future.result()
            known[found[:4]] = found
            write_table("scaling", Found._fields, [known[place] for place in places if place in known])
    return [known[place] for place in places]


def chosen() -> Iterator[Case]:
    """Yield the cases to search: all, or for a glance those of few features."""
    yield from (case for case in cases() if not is_quick() or case.features <= 30)


def written() -> list[Found]:
    """Return what was written down before."""
    path = FOLDER / "scaling.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if tuple(rows[0]) != Found._fields:
        raise SystemExit(f"{path} has other columns: {', '.join(rows[0])}; run without --resume")
    kinds = (str, float, int, int, int, int, float, float, float)
    return [Found(*(kind(cell) for kind, cell in zip(kinds, row, strict=True))) for row in rows[1:]]


def warm() -> None:
    """Compile, or load what was compiled."""
    bt.trim(random_naive_bayes(30, 0), 10)


def report(found: list[Found]) -> None:
    """Print a line for each case: medians, the worst gaps, and how many were proved."""
    heading = f"{'':11} {'|F|':>4} {'nodes':>10} {'evaluations':>11} {'seconds':>8}"
    print(f"{heading} {'gap, 10 s':>10} {'gap, 60 s':>10}  proved")
    for family, what in FAMILIES.items():
        mine = [one for one in found if one.family == family]
        if mine:
            print(f"{family} ({what})")
        for value in dict.fromkeys(one.value for one in mine):
            some = [one for one in mine if one.value == value]
            nodes, evaluations, seconds = (statistics.median(column) for column in list(zip(*some, strict=True))[4:7])
            gaps = (max(one.gap_after_10_s for one in some), max(one.gap_after_60_s for one in some))
            proved = sum(one.proved for one in some)
            print(
                f"{value:11g} {some[0].features:4} {nodes:10.0f} {evaluations:11.0f} {seconds:8.3f} {gaps[0]:10.1e} "
                f"{gaps[1]:10.1e}  {proved} of {len(some)}"
            )


def forecast(found: list[Found], efficiency: float) -> None:
    """Print by how much searches grow, and what an hour buys on one machine and on a hundred."""
    family = next(iter(FAMILIES))
    grown = growth(found, family)
    if grown is None:
        print(f"{family}: too few sizes were searched to the end to fit their growth")
        return
    first, last = grown.sizes[0], grown.sizes[-1]
    print(
        f"{family}: {grown.factor:.3f} times the evaluations for each feature more (fitted from {first} to {last}), "
        f"{grown.rate:,.0f} evaluations in a second"
    )
    print(f"  an hour buys about {grown.reach(HOUR):.0f} features on one machine")
    for share in (1.0, efficiency):
        many = grown.reach(HOUR * MACHINES * share)
        print(f"  and about {many:.0f} on {MACHINES} machines, if {share:.0%} of each one's time counts")


def main() -> None:
    """Search, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few features, one seed, a second each, nothing written")
    parser.add_argument("--resume", action="store_true", help="take over what the file of results holds")
    parser.add_argument("--draw", action="store_true", help="search nothing")
    parser.add_argument("--jobs", type=int, default=2, help="searches at a time (default: 2)")
    parser.add_argument("--efficiency", type=float, default=EFFICIENCY, help="of workers, between 0 and 1")
    options = parser.parse_args()
    print(machine())
    found = written() if options.draw else results(options.resume, options.jobs)
    report(found)
    forecast(found, options.efficiency)
    if not options.quick:
        from benchmarks.scaling_pictures import draw  # noqa: PLC0415  (needs matplotlib)

        draw(found)


if __name__ == "__main__":
    main()
