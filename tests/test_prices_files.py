"""Prices from files: what is read, and where faults are said to be."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from bayestrim.errors import FormatError, MissingFileError
from bayestrim.prices import Prices, read_prices

CSV = "Feature;Cost;Setup\nNa;1,5;blood\nK;0;blood\nX-ray;20;\nblood;12;\n"
JSON = '{"costs": {"Na": 1.5, "K": 0, "X-ray": 20}, "setup_costs": {"blood": [12, ["Na", "K"]]}}'
EXPECTED = Prices({"Na": 1.5, "K": 0.0, "X-ray": 20.0}, {"blood": (12.0, ("Na", "K"))})


def read(text: str, name: str = "p.csv") -> Prices:
    """Read prices from memory."""
    file = io.BytesIO(text.encode())
    file.name = name
    return read_prices(file)


def test_csv_and_json_hold_the_same_prices(tmp_path: Path) -> None:
    """Costs, and set-up costs with the features that share them."""
    for name, text in (("p.csv", CSV), ("p.json", JSON)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        for prices in (read_prices(tmp_path / name), read(text, name)):
            assert (prices.costs, prices.setup_costs) == (EXPECTED.costs, EXPECTED.setup_costs)
    assert read(JSON, "<stdin>").setup_costs == EXPECTED.setup_costs
    assert read('{"costs": 2, "a": 1}', "p.json").costs == {"costs": 2.0, "a": 1.0}
    assert read("feature,cost\ncosts,2\n").costs == {"costs": 2.0}


def test_prices_of_some_features() -> None:
    """Features that the classifier does not read are passed over, unknown names refused with their line."""
    prices = read(CSV)
    assert prices.of(["Na"], ["K", "X-ray"]) == Prices({"Na": 1.5}, {"blood": (12.0, ("Na",))}, "p.csv")
    with pytest.raises(FormatError, match=r"p\.csv:4: 'X-ray' is not a feature; did you mean 'x_ray'\?"):
        prices.of(["Na", "K", "x_ray"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,cost\na,1\n", "p.csv:1: there is no column 'feature'"),
        ("feature,price\na,1\n", "p.csv:1: there is no column 'cost'"),
        ("feature,cost\na,1\nb,cheap\n", "p.csv:3: the cost of 'b' is 'cheap'; it must be a number, 0 or more"),
        ("feature,cost\na,-1\n", "p.csv:2: the cost of 'a' is '-1'"),
        ("feature,cost\na,\n", "p.csv:2: the cost of 'a' is missing"),
        ("feature,cost\n,1\n", "p.csv:2: the feature's name is missing"),
        ("feature,cost\na,1\nb,1\na,2\n", "p.csv:4: 'a' has a cost already, in line 2"),
        ("feature,cost,setup\na,1,blood\n", "p.csv:2: 'blood', which 'a' shares, has no line with its cost"),
        ("feature,cost,setup\na,1,s\ns,1,t\nt,1,\n", "p.csv:3: 's' is shared by others"),
        ("feature,cost\na,1,2\n", "p.csv:2: 3 cells stand here"),
    ],
)
def test_faults_in_csv_are_placed(text: str, message: str) -> None:
    """File, line, what is wrong and what is allowed."""
    with pytest.raises(FormatError) as caught:
        read(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1,}', "this is not JSON"),
        ("[1]", "prices are {"),
        ('{"a": true}', "the cost of 'a' is True"),
        ('{"a": 1, "a": 2}', "'a' is there twice"),
        ('{"costs": {}, "setups": {}}', "not 'setups'"),
        ('{"setup_costs": {"s": 3}}', "the set-up cost 's' must be"),
        ('{"setup_costs": {"s": [3, []]}}', "the set-up cost 's' must be"),
    ],
)
def test_faults_in_json_are_named(text: str, message: str) -> None:
    """So are those of JSON, as far as it tells."""
    with pytest.raises(FormatError) as caught:
        read(text, "p.json")
    assert message in str(caught.value)


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    """In both formats."""
    for name in ("none.csv", "none.json"):
        with pytest.raises(MissingFileError):
            read_prices(tmp_path / name)
