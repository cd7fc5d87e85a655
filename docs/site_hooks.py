"""What the site needs beyond the pages in this folder: the README, the changes, and a reference of all modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "bayestrim"
OUTSIDE = {"../README.md": "readme.md", "../CHANGELOG.md": "changes.md"}
"""Pages that stand outside this folder, and what the site calls them."""


HEADING = re.compile(r"^## (.+)$")
LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Take the site's menu from the index, so that pages are listed in one place."""
    menu: list[dict[str, Any]] = [{"Documentation": "index.md"}]
    for line in (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines():
        if heading := HEADING.match(line):
            menu.append({heading[1]: []})
        elif line.startswith("| "):
            menu[-1][next(iter(menu[-1]))] += [{t: OUTSIDE.get(page, page)} for t, page in LINK.findall(line)]
    menu.append({"Reference": ["reference.md", "changes.md"]})
    config.nav = menu
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file in this folder holds."""
    pages = {name: (ROOT / Path(source).name).read_text(encoding="utf-8") for source, name in OUTSIDE.items()}
    for name, text in {**pages, "reference.md": _reference()}.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Let links lead to where the site has the pages, and to the repository for other files."""
    if page.file.src_uri == "readme.md":
        markdown = markdown.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changes.md)")
    for source, name in OUTSIDE.items():
        markdown = markdown.replace(f"]({source}", f"]({name}")
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", markdown)  # a file of the repository is no page of the site


def _reference() -> str:
    """Return a page with the public names, then each module that has a docstring."""
    lines = ["# Reference", "", "What `import bayestrim` offers, and the modules behind it.", ""]
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if path.name == "__init__.py":
            parts = parts[:-1]
        if not parts[-1].startswith("_") and ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))):
            lines += [f"::: {'.'.join(parts)}", ""]
    return "\n".join(lines)
