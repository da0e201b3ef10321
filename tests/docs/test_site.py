# SPDX-License-Identifier: GPL-2.0-or-later
"""The documentation builds as a site without a warning, and the site asks no other machine for anything."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from linesmith.analyzer.lint.rules.catalogue import RULES

CHECKOUT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("site")
FETCHED = {"link": "href", "script": "src", "img": "src", "iframe": "src"}


class Fetched(HTMLParser):
    """Addresses that a browser loads by itself when it shows a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value for name, value in attrs if name == FETCHED.get(tag) and value]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    configuration = CHECKOUT / ".mkdocs.yml"
    if not configuration.is_file():
        pytest.skip("there is no checkout, so there is no configuration of the site")
    command = (sys.executable, "-m", "mkdocs", "build", "--config-file", str(configuration), "--site-dir", str(place))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, re.findall(r"^WARNING.*", done.stderr, re.MULTILINE)) == (0, [])
    return place


def test_every_document_has_a_page(site: Path) -> None:
    documents = {path.stem for path in (CHECKOUT / "docs").glob("*.md")}
    assert documents - {path.stem for path in site.glob("*.html")} == set()


def test_every_rule_has_a_page(site: Path) -> None:
    assert {path.stem for path in (site / "rules").glob("*.html")} == {rule.name for rule in RULES}
    rows = re.findall(r"<td><a[^>]*>([\w-]+)</a></td>\s*<td>(.*?)</td>", (site / "rules.html").read_text())
    assert rows == [(rule.name, rule.severity) for rule in RULES]


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    parser = Fetched()
    for page in site.rglob("*.html"):
        parser.feed(page.read_text())
    assert [one for one in parser.addresses if "://" in one or one.startswith("//")] == []


def test_the_site_has_no_program_that_made_it(site: Path) -> None:
    assert list(site.rglob("*.py")) == []
