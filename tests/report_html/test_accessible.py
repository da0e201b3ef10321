# SPDX-License-Identifier: GPL-2.0-or-later
"""Pages that can be read with a keyboard, a screen reader, in the dark, on a narrow screen and on paper."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from report_html.browser import Browser

# One browser and one pair of runs for all pages.
pytestmark = pytest.mark.xdist_group("pages")

STYLE = (files("linesmith.analyzer.report.html") / "templates" / "style.css").read_text()
# Inks and the grounds they are put on, on paper too; lines and marks of drawings need less than text.
TEXTS = [
    *[(ink, ground) for ink in ("ink", "quiet") for ground in ("paper", "raised")],
    *[(ink, "paper") for ink in ("link", "good", "bad", "doubt")],
]
MARKS = [(ink, ground) for ink in ("first", "second", "quiet", "ink") for ground in ("paper", "mark")]

FAINT = Path(__file__).with_name("faint.js").read_text()
HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(one => Number(one.tagName[1]))"
# Cells of a head without a scope, and rows without a heading cell.
UNSCOPED = "[...document.querySelectorAll('th')].filter(one => !one.scope).length"
SILENT = """[...document.querySelectorAll('svg')].filter(
  one => one.getAttribute('role') !== 'img' || !(one.getAttribute('aria-label') || one.querySelector('title'))
).length"""


FOLDED = "[...document.querySelector('details').querySelectorAll('th, td, code, dt, dd')].map(one => one.textContent)"
# Longer words may be parted at the end of a line.
MOST_LETTERS = 14


@pytest.fixture(scope="module", params=["run_page", "profile_page"])
def page(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue(request.param))


def palettes() -> dict[str, dict[str, str]]:
    """Custom properties by scheme; each scheme states all of them."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    return {
        scheme: dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
        for scheme, block in zip(("light", "dark", "print"), blocks, strict=True)
    }


def luminance(colour: str) -> float:
    """Relative luminance. Source: WCAG 2.2, the definition of that name."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_every_ink_stands_out_from_its_ground() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    for colours in palettes().values():
        assert [(ink, ground) for ink, ground in TEXTS if contrast(colours[ink], colours[ground]) < 4.5] == []
        assert [(ink, ground) for ink, ground in MARKS if contrast(colours[ink], colours[ground]) < 3] == []


def test_all_text_of_the_page_stands_out_and_nothing_moves(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 27)")):
        browser.look(prefers_color_scheme=scheme)
        assert browser.value("getComputedStyle(document.documentElement).backgroundColor") == paper
        assert browser.value(FAINT) == []
    browser.look(prefers_reduced_motion="reduce")
    assert browser.value("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    assert browser.value("document.getAnimations().length") == 0


def test_a_screen_reader_gets_landmarks_headings_tables_and_names(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    levels = browser.value(HEADINGS)
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(now <= before + 1 for before, now in pairwise(levels))
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert browser.value(f"document.querySelectorAll('body > {landmark}').length") == 1
    assert [browser.value(one) for one in ("document.documentElement.lang", UNSCOPED, SILENT)] == ["en", 0, 0]
    ids = browser.value("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    targets = browser.value("[...document.querySelectorAll('a')].map(one => one.getAttribute('href').slice(1))")
    assert set(targets) <= set(ids)
    nodes = browser.do("Accessibility.getFullAXTree")["nodes"]
    roles = {str(node["role"]["value"]) for node in nodes if "role" in node and not node["ignored"]}
    assert roles >= {"banner", "navigation", "main", "contentinfo", "table", "columnheader", "rowheader", "region"}
    images = [node for node in nodes if node.get("role", {}).get("value") in ("image", "img") and not node["ignored"]]
    assert images
    assert all(node["name"]["value"] for node in images)


def press(browser: Browser, key: str, **more: object) -> None:
    for kind in ("keyDown", "keyUp"):
        browser.do("Input.dispatchKeyEvent", type=kind, key=key, code=key, **more)


def test_the_first_tab_skips_to_the_content(browser: Browser, page: Path) -> None:
    browser.open(page.as_uri())
    press(browser, "Tab", windowsVirtualKeyCode=9)
    assert browser.value("document.activeElement.className") == "skip"
    assert browser.value("document.activeElement.getBoundingClientRect().left") >= 0
    assert browser.value("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press(browser, "Enter", windowsVirtualKeyCode=13, text="\r")
    browser.settle()
    assert browser.value("document.activeElement.id") == "content"


def test_a_narrow_screen_scrolls_down_only_but_for_what_the_keyboard_reaches(browser: Browser, page: Path) -> None:
    browser.look(width=400)
    browser.open(page.as_uri())
    assert browser.value("document.documentElement.scrollWidth") == 400
    wide = "[...document.querySelectorAll('*')].filter(one => one.scrollWidth > one.clientWidth + 1 && "
    wide += "['auto', 'scroll'].includes(getComputedStyle(one).overflowX))"
    assert browser.value(f"{wide}.length") > 0
    assert browser.value(f"{wide}.filter(one => one.tabIndex !== 0 || !one.getAttribute('aria-label')).length") == 0


def test_paper_shows_what_is_folded_away_and_breaks_no_number(browser: Browser, page: Path, tmp_path: Path) -> None:
    """Half of a number on the next row is another number; on paper columns may get narrower than their words."""
    browser.open(page.as_uri())
    folded = " ".join(browser.value(FOLDED)).split()
    browser.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF-")
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext (poppler-utils)")
    command = ["pdftotext", str(tmp_path / "page.pdf"), "-"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert folded
    assert [word for word in folded if len(word) < MOST_LETTERS and word not in text] == []
    browser.do("Emulation.setEmulatedMedia", media="print")
    ways = browser.value(
        "[...new Set([...document.querySelectorAll('td.number')].map(one => getComputedStyle(one).overflowWrap))]"
    )
    browser.do("Emulation.setEmulatedMedia", media="")
    assert ways == ["normal"]
