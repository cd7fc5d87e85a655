"""Commands that make models and use them: learn, predict, convert."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator

import click
import numpy as np

from bayestrim.classifier import BoolArray, Classifier
from bayestrim.cli.options import as_json, output, quiet, takes_model, takes_table
from bayestrim.cli.output import check_writable, note, show, show_json, write_text
from bayestrim.cli.sources import ModelQuestion, Source
from bayestrim.continuous import GaussianFeature, GaussianNaiveBayes
from bayestrim.description import aligned
from bayestrim.errors import EvidenceError
from bayestrim.formats import FORMATS, read_network, write_network
from bayestrim.learn import labels
from bayestrim.network import FloatArray, Variable
from bayestrim.rows import IntArray
from bayestrim.tables import Table


@click.command(
    short_help="Learn a model from a table.",
    epilog="""\b
Examples:
  bayestrim learn heart.csv --target num --positive 1,2,3,4 -o heart.bif
  bayestrim learn heart.csv --target num --structure tree --bins 4 -o heart.xdsl
""",
)
@takes_table
@output("The model to write; its ending tells the format (.json saves a classifier, - prints BIF).")
@as_json
def learn(question: ModelQuestion, output: str | None, as_json: bool) -> None:
    """Learn a naive Bayes network, or a tree-augmented one, from a table (CSV or Parquet).

    Numbers are cut into ranges of about equally many rows, and the model keeps the cuts. Missing cells count nowhere.
    """
    check_writable(output)
    learned = question.learned()
    if output == "-":
        write_network(learned.network, sys.stdout, format="bif")
        note(str(learned.report))
        return
    if as_json:
        show_json(learned.report.to_dict())
    else:
        show(str(learned.report))
    if output is not None and output.lower().endswith(".json"):
        learned.classifier().save(output)
    elif output is not None:
        write_network(learned.network, output)


@click.command(
    short_help="Write a model in another format.",
    epilog="""\b
Examples:
  bayestrim convert heart.bif heart.xdsl
  bayestrim convert - - --from bif --to uai < heart.bif > heart.uai
""",
)
@click.argument("model")
@click.argument("target", metavar="OUTPUT")
@click.option("--from", "source_format", type=click.Choice(list(FORMATS)), help="MODEL's format (default: found out).")
@click.option(
    "--to", "target_format", type=click.Choice(list(FORMATS)), help="OUTPUT's format (default: by its ending)."
)
def convert(model: str, target: str, source_format: str | None, target_format: str | None) -> None:
    """Write a network in another format, bit for bit."""
    check_writable(target)
    network = read_network(Source(model).file(), format=source_format)
    if target == "-":
        write_network(network, sys.stdout, format=target_format or "bif")
    else:
        write_network(network, target, format=target_format)


@click.command(
    short_help="Decide the rows of a table.",
    epilog="""\b
Examples:
  bayestrim predict trimmed.json patients.csv -o decisions.csv
  bayestrim predict trimmed.json patients.csv --compare heart.json
  bayestrim predict heart.bif patients.csv --target num --positive 1/2/3/4 --id patient
""",
)
@takes_model
@click.argument("rows")
@click.option(
    "--compare", metavar="ORIGINAL", help="Saved classifier or result: how often do the two agree on the rows?"
)
@click.option("--id", "identify", metavar="COLUMN", help="Copy this column to the output.")
@click.option(
    "--unknown", type=click.Choice(["error", "missing"]), default="error", help="What to do with unknown states."
)
@output("Write the decisions to a file (default: print them).")
@quiet
@as_json
def predict(
    question: ModelQuestion,
    rows: str,
    compare: str | None,
    identify: str | None,
    unknown: str,
    output: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Decide the rows of a table, whatever columns or cells are missing.

    Of a saved result, the trimmed classifier decides. Prints CSV with row, posterior and decision. If the class is in
    the table, its accuracy is reported too; with --compare, how often the original decides the same.
    """
    check_writable(output)
    classifier = _deciding(question)
    table = Source(rows).table()
    _check_columns(table, classifier)
    decided = _Decided(classifier, table, unknown)
    found: dict[str, float | int] = {"rows": len(table), "impossible": int((~decided.possible).sum())}
    truth = labels(table, classifier)
    known = decided.possible & (truth >= 0)
    if known.any():
        found["accuracy"] = float((decided.positive == (truth == 1))[known].mean())
    if compare is not None:
        other = _Decided(_original(compare), table, unknown)
        both = decided.possible & other.possible
        found["agreement"] = float((decided.positive == other.positive)[both].mean()) if both.any() else float("nan")
        if (both & (truth >= 0)).any():
            found["original_accuracy"] = float((other.positive == (truth == 1))[both & (truth >= 0)].mean())
    if as_json:
        show_json(
            {
                **found,
                "decisions": [
                    dict(zip(("row", "posterior", "decision"), cells, strict=False)) for cells in decided.cells(None)
                ],
            }
        )
    else:
        write_text(output or "-", _csv(decided, table, identify))
    if not quiet and not as_json:
        sys.stdout.flush()
        note("\n".join(aligned([(name.replace("_", " "), _number(value)) for name, value in found.items()])))


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2%}"


def _deciding(question: ModelQuestion) -> Classifier:
    """Return the classifier that is meant; of a result, the trimmed one."""
    if question.source.saved == "result":
        return question.source.result().classifier
    return question.classifier()


def _original(path: str) -> Classifier:
    return ModelQuestion(path).classifier()


def _check_columns(table: Table, classifier: Classifier) -> None:
    if classifier.features and not set(classifier.features) & set(table.columns):
        wanted = ", ".join(classifier.features[:5])
        raise EvidenceError(f"{table.origin}: there is no column of any feature ({wanted}, …)")


def _coded(classifier: Classifier, table: Table, unknown: str) -> IntArray | FloatArray:
    """Return rows as the array that the classifier takes."""
    if not isinstance(classifier, GaussianNaiveBayes):
        return table.encode(classifier.feature_variables, unknown)  # type: ignore[arg-type]  # click checked it
    columns = [
        table.numbers(part.name) if isinstance(part, GaussianFeature) else _states(table, part.variable, unknown)
        for part in classifier.parts
    ]
    return np.stack(columns, axis=1) if columns else np.empty((len(table), 0))


def _states(table: Table, variable: Variable, unknown: str) -> FloatArray:
    codes = table.encode([variable], unknown)  # type: ignore[arg-type]  # click checked it
    return codes[:, 0].astype(np.float64)


class _Decided:
    """Posteriors and decisions of a table's rows."""

    def __init__(self, classifier: Classifier, table: Table, unknown: str) -> None:
        codes = _coded(classifier, table, unknown)
        self.posterior: FloatArray = classifier.posterior(codes, impossible="nan")
        self.possible: BoolArray = ~np.isnan(self.posterior)
        self.positive: BoolArray = np.zeros(len(codes), dtype=bool)
        self.positive[self.possible] = classifier.decide(codes[self.possible])

    def cells(self, extra: list[object] | None) -> Iterator[list[object]]:
        """Yield row number, posterior, decision, and perhaps one thing more."""
        for row, (posterior, positive) in enumerate(zip(self.posterior.tolist(), self.positive.tolist(), strict=True)):
            word = "impossible" if posterior != posterior else "positive" if positive else "negative"  # noqa: PLR0124
            yield [row + 1, None if word == "impossible" else posterior, word, *([] if extra is None else [extra[row]])]


def _csv(decided: _Decided, table: Table, identify: str | None) -> Iterator[str]:
    extra: list[object] | None = None
    if identify is not None:
        column = table.column(identify)
        extra = [None if code < 0 else column.values[code] for code in column.codes.tolist()]
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["row", "posterior", "decision", *([] if identify is None else [identify])])
    for number, cells in enumerate(decided.cells(extra)):
        writer.writerow(cells)
        if number % 10_000 == 0:
            yield lines.getvalue()
            lines.seek(0)
            lines.truncate()
    yield lines.getvalue()
