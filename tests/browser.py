"""A headless Chromium for tests of the page, and the accessibility checker that runs in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FLAGS = [
    "--no-sandbox",  # in containers, where tests run as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",  # a test asks nothing of a network
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str:
    """Return the path of a Chromium or Chrome.

    Without one, the tests are skipped on a machine of one's own and fail in continuous integration (CI is set there): a
    page that no browser opened is not tested.
    """
    found = os.environ.get("BAYESTRIM_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up(
            "no Chromium was found. Install one (Debian: apt-get install chromium) or say where it is: "
            "BAYESTRIM_CHROMIUM=/path/to/chrome"
        )
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium, and end it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


def faults_of_access(page: Page) -> list[str]:
    """Return what axe finds wrong with a page's accessibility, apart from what is minor."""
    source = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    page.evaluate(source)
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']} ({fault['impact']}): {fault['help']}: {fault['nodes'][0]['html'][:200]}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical", "moderate")
    ]
