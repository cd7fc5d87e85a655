"""The documentation as a site: it builds without a warning and without a network, and all its links lead somewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[1]


class Links(HTMLParser):
    """Collects what a page refers to and loads, and the places in it that can be referred to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element's references."""
        found = {name: value or "" for name, value in attrs}
        self.places.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and "src" in found:
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") != "canonical":
            self.loads.append(found.get("href", ""))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site, where a warning is an error."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    closed = dict.fromkeys(("http_proxy", "https_proxy"), "http://127.0.0.1:9")  # whoever asks a network, fails
    quiet = {**os.environ, **closed, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr
    return folder


def test_every_page_is_in_the_site(site: Path) -> None:
    """All pages of the documentation, the README, the changes and the reference."""
    made = {page.stem for page in site.glob("*.html")}
    wanted = {page.stem for page in (ROOT / "docs").glob("*.md")} | {"readme", "changes", "reference"}
    assert wanted <= made


def test_links_and_anchors_lead_somewhere(site: Path) -> None:
    """Within the site, every link has a page, and every anchor an element."""
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}
    broken = []
    for page, found in pages.items():
        for link in found.links:
            address, anchor = urldefrag(link)
            if "://" in address or address.startswith("mailto:"):
                continue
            target = (page.parent / unquote(address)).resolve() if address else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and target in pages and unquote(anchor) not in pages[target].places):
                broken.append(f"{page.name}: {link}")
    assert not broken


def test_the_site_loads_nothing_from_a_network(site: Path) -> None:
    """Scripts, styles, fonts and pictures are the site's own."""
    for page in site.rglob("*.html"):
        assert not [address for address in Links(page).loads if "//" in address]


def test_the_reference_documents_the_public_names(site: Path) -> None:
    """What `import bayestrim` offers has its docstring in the reference."""
    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in ("bayestrim.search.trim", "bayestrim.classifier.Classifier", "bayestrim.report.write_report"):
        assert f'id="{name}"' in text
