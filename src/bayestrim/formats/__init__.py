"""Reading and writing networks: one function each, and a table of the formats they know."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from bayestrim.errors import FormatError, TooLargeError, UnknownNameError, suggestion
from bayestrim.files import PathOrFile, origin_of
from bayestrim.formats import _text, bif, net, uai, xdsl, xmlbif
from bayestrim.memory import check_memory
from bayestrim.network import BayesianNetwork

__all__ = ["FORMATS", "Format", "read_network", "write_network"]

SAVED_CLASSIFIER = '"format": "bayestrim classifier"'
"""What tells a saved classifier, which people may take for a network."""
NUMBERS_PER_CHARACTER = 4
"""What reading takes at most, half of it: measured, a hostile text becomes objects of sixty times its size."""
_PACKED = ".gz"
_OPENING = 65_536


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name
        What ``format=`` calls it.
    title
        What people call it.
    suffixes
        The endings of its files.
    opening
        A pattern that the beginning of such a file matches and no other format's does; comments are taken out first.
    parse
        Makes a network of a text and the name the text came under.
    render
        Makes a text of a network.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    opening: str
    parse: Callable[[str, str], BayesianNetwork]
    render: Callable[[BayesianNetwork], str]


FORMATS: dict[str, Format] = {
    item.name: item
    for item in (
        Format("bif", "BIF", (".bif",), r"(network|variable|probability)\b", bif.parse, bif.render),
        Format("xmlbif", "XMLBIF", (".xmlbif", ".xml", ".bifxml"), r"(?i:<bif\b)", xmlbif.parse, xmlbif.render),
        Format("xdsl", "GeNIe XDSL", (".xdsl",), r"<smile\b", xdsl.parse, xdsl.render),
        Format(
            "net",
            "Hugin NET",
            (".net", ".oobn"),
            r"net\s*\{|class\s+\w+\s*\{|((discrete|continuous)\s+)?node\b|potential\b",
            net.parse,
            net.render,
        ),
        Format("uai", "UAI", (".uai",), r"(?i:(BAYES|MARKOV)\s)", uai.parse, uai.render),
    )
}

# What may stand before the part of a file that tells its format.
_BEFORE = re.compile(
    r"\s+|//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)|[%#][^\n]*"
    r"|<\?[\s\S]*?(?:\?>|\Z)|<!--[\s\S]*?(?:-->|\Z)|<!DOCTYPE[^\[>]*(?:\[[\s\S]*?(?:\]\s*>|\Z)|>|\Z)"
)


def read_network(source: PathOrFile, *, format: str | None = None) -> BayesianNetwork:
    """Read a Bayesian network.

    Parameters
    ----------
    source
        A path, or an open file, binary or text. Files packed with gzip are unpacked, whatever they are called.
    format
        A name in `FORMATS`. Without it the content tells, and if it does not, the suffix does.

    Returns
    -------
    BayesianNetwork
        With every probability as the file spells it, to the last bit.

    Raises
    ------
    FormatError
        If the content is not a network that can be read; it says why and where.
    FileError
        If the file cannot be opened or read.
    TooLargeError
        If the file is so large that the memory that is free may not do.

    Examples
    --------
    >>> import io
    >>> text = "variable Q { type discrete [ 2 ] { right, wrong }; } probability ( Q ) { table 0.9, 0.1; }"
    >>> read_network(io.StringIO(text)).table("Q").tolist()
    [0.9, 0.1]
    """
    if not (isinstance(source, str | os.PathLike) or hasattr(source, "read")):
        raise FormatError(f"a network is read from a path or an open file, not from {type(source).__name__}")
    chosen = None if format is None else _by_name(format)
    try:
        text, origin = _text.read(source)
        check_memory(NUMBERS_PER_CHARACTER * len(text), f"{origin or 'a file'} of {len(text):,} characters", None)
        chosen = chosen or _recognised(text, origin)
        return chosen.parse(text, origin)
    except (MemoryError, OverflowError, RecursionError) as error:
        if isinstance(error, TooLargeError):
            raise
        raise TooLargeError(f"{origin_of(source)}: this file needs more memory than there is") from error


def write_network(network: BayesianNetwork, target: PathOrFile, *, format: str | None = None) -> None:
    """Write a Bayesian network, so that `read_network` returns an equal one.

    Parameters
    ----------
    network
        What to write.
    target
        A path, whose old content stays if writing fails, or a file open for writing, binary or text. A path that ends
        in ``.gz`` is packed.
    format
        A name in `FORMATS`. Without it the suffix tells.

    Raises
    ------
    FormatError
        If the format cannot hold this network.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import io
    >>> from bayestrim.network import Variable
    >>> coin = BayesianNetwork([Variable("Coin", ("heads", "tails"))], {}, {"Coin": [0.5, 0.5]})
    >>> file = io.StringIO()
    >>> write_network(coin, file, format="uai")
    >>> print(file.getvalue().splitlines()[0])
    BAYES
    """
    if not isinstance(network, BayesianNetwork):
        raise FormatError(
            f"the first argument is the network to write, not {type(network).__name__}; of a classifier, write its "
            ".network, or use its save(path)"
        )
    origin = origin_of(target)
    chosen = _by_suffix(origin) if format is None else _by_name(format)
    if chosen is None:
        raise UnknownNameError(f"{origin or 'the file'}: the suffix names no format; {_allowed()}")
    try:
        text = chosen.render(network)
    except FormatError as error:
        raise FormatError(error.message, origin) from None
    _text.write(text, target, packed=origin.lower().endswith(_PACKED))


def _by_name(name: str) -> Format:
    if name not in FORMATS:
        raise UnknownNameError(f"there is no format {name!r}{suggestion(str(name), FORMATS)}; {_allowed()}")
    return FORMATS[name]


def _by_suffix(origin: str) -> Format | None:
    stem = origin.lower().removesuffix(_PACKED)
    suffix = os.path.splitext(stem)[1]
    return next((item for item in FORMATS.values() if suffix in item.suffixes), None)


def _recognised(text: str, origin: str) -> Format:
    at = 0
    opening = text[:_OPENING]
    while match := _BEFORE.match(opening, at):
        at = match.end()
    found = [item for item in FORMATS.values() if re.compile(item.opening).match(opening, at)]
    chosen = found[0] if len(found) == 1 else _by_suffix(origin)
    if chosen is None and SAVED_CLASSIFIER in opening:
        raise FormatError("this is a saved classifier; Classifier.load reads it", origin)
    if chosen is None:
        raise FormatError(f"neither the content nor the name tells the format; {_allowed()}", origin)
    return chosen


def _allowed() -> str:
    known = ", ".join(f"{item.name} ({' '.join(item.suffixes)})" for item in FORMATS.values())
    return f"the formats are {known}"
