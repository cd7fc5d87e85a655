"""Every code block in the README and the docs runs, prints what it says, and every link leads somewhere."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bayestrim

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def code_blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """Yield the language, text and first line of each fenced block."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        yield match[1], match[2], text.count("\n", 0, match.start()) + 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_do_what_they_say(page: Path) -> None:
    """Python blocks run in order in one namespace, and prompts print what stands below them."""
    namespace: dict[str, Any] = {"__name__": "__page__"}
    for language, text, line in code_blocks(page):
        assert language in ("python", "pycon", "console", "text", ""), f"{page}:{line}: unknown language {language}"
        if language == "python":
            exec(compile("\n" * line + text, str(page), "exec"), namespace)
        elif language == "pycon":
            example = doctest.DocTestParser().get_doctest(text, namespace, page.name, str(page), line)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
            runner.run(example, clear_globs=False)
            assert not runner.summarize(verbose=False).failed
            namespace.update(example.globs)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    """Relative links exist."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_page_is_listed_in_the_index() -> None:
    """No page is unreachable."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert page.name == "index.md" or f"({page.relative_to(ROOT / 'docs')})" in index


def modules() -> list[str]:
    """Return the names of all modules of the package."""
    return ["bayestrim", *(m.name for m in pkgutil.walk_packages(bayestrim.__path__, "bayestrim."))]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings_print_what_they_say(name: str) -> None:
    """Docstrings are documentation too."""
    module = importlib.import_module(name)
    assert module.__doc__
    assert not doctest.testmod(module).failed


def test_the_documentation_names_every_public_function() -> None:
    """A public name that no page mentions is not documented."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    missing = [name for name in bayestrim.__all__ if name not in text and not issubclass_of_error(name)]
    assert not missing


def issubclass_of_error(name: str) -> bool:
    """Tell whether a public name is an error or a warning, which docstrings explain."""
    thing = getattr(bayestrim, name)
    return isinstance(thing, type) and issubclass(thing, Exception)


def test_the_version_is_stated_once_for_all() -> None:
    """The package and its metadata agree."""
    assert f'version = "{bayestrim.__version__}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
