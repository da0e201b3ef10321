# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a profile: maps, readers and writers, coherence steps, phases and memory of what is recommended."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from hand_made import meeting, scalar, struct, table
from linesmith_command import linesmith
from report_html.browser import Browser, contrast

from linesmith.analyzer.model import Candidate, ElfIdentity, Finding, Layout, Outcome, Profile, Residual
from linesmith.analyzer.report.candidate import Suggested, meetings
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.html.profile_page import render_profile

# One browser and one pair of runs for all pages.
pytestmark = pytest.mark.xdist_group("pages")

ELF = ElfIdentity("vmlinux", "0123abcd", "x86-64", "ET_EXEC", True, 8, True, False)


def test_the_page_goes_from_what_lies_on_a_line_to_what_to_do(
    browser: Browser, example: Path, profile_page: Path
) -> None:
    browser.open(profile_page.as_uri())
    assert browser.texts("h2") == ["Overview", "Line 0: struct session_index", "Not checked", "Samples"]
    files = example / "bench", example / "bench.c2c"
    (what,) = re.findall(r"^1  session_index: (.*), candidate qlkgp$", linesmith("suggest", *files).stdout, re.M)
    assert browser.texts("[aria-labelledby=overview] .words")[0] == what == "move guard behind name"
    assert browser.texts("section[aria-labelledby=line-0] > h3") == [
        "The object on its lines",
        "Who touches this line",
        "Who waits for whom",
        "Recommended: candidate qlkgp: move guard behind name",
        "All candidates of line 0",
    ]
    # Maps of the object, and of both layouts of each candidate.
    drawings = [title[:20] for title in browser.texts(".drawing svg > title")]
    assert drawings == ["struct session_index"] * len(drawings)
    # What was not given was not checked.
    missing = browser.texts("[aria-labelledby=unchecked] li")
    assert [re.findall(r"--\w+", one) for one in missing] == [
        *([], ["--trace"], ["--tree"], ["--configuration"], ["--slabinfo"])
    ]
    # Where its files lie is not said.
    assert str(example) not in profile_page.read_text()
    assert browser.texts("h1")[0].endswith(": session_index")
    assert {"bench.c2c", "bench"} <= {text.partition(",")[0] for text in browser.texts("header dd")}


def test_readers_writers_and_steps_have_cpus_nodes_and_shares(browser: Browser, profile_page: Path) -> None:
    """Shares of the map are of the record and its lines, those of the table below of the line of the profile."""
    browser.open(profile_page.as_uri())
    cells = browser.value("[...document.querySelectorAll('details table tbody tr')].map(one => one.textContent)")
    assert any(re.search(r"root.*session_index_find on 7 CPUs of node 0: 1,388 reads", cell, re.S) for cell in cells)
    waits = browser.value("document.querySelector('[aria-label^=\"Who waits\"] tbody').innerText")
    assert "root\tguard" in waits
    assert "7 CPUs after 1 CPU, node 0" in waits
    heads = browser.texts("[aria-labelledby=line-0] th[scope=col]")
    assert {"line of the object", "heat of the record", "share of the line"} <= set(heads)
    assert {"heat", "share"}.isdisjoint(heads)
    head = browser.texts(".steps thead tr:first-child th")[:4]
    assert head == ["CPU", "access", "now", "with candidate qlkgp"]
    states = browser.value("[...document.querySelectorAll('.steps abbr')].slice(0, 2).map(one => one.title)")
    assert states == ["modified on CPU A", "invalid on CPU B"]
    assert "needless" in browser.value("document.querySelector('.steps').innerText")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["profile"], "give the program or kernel as well"),
        (["elf", "profile"], "a profile needs --html FILE"),
        (["elf", "profile", "elf"], "one RUN, or one PROFILE with its ELF"),
        (["elf", "profile", "--html", "out.html", "--format", "json"], "--format applies to a RUN"),
        (["run", "--type", "x"], "--type applies to a PROFILE"),
        (["run", "profile"], "it must be a RUN"),
        (["elf", "profile", "--html", "elf"], "ELF or BTF file and is not replaced"),
        (["elf", "profile", "--html", "profile"], "is not replaced"),
    ],
)
def test_what_does_not_fit_together_is_said(
    example: Path, benched_run: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    places = {
        "elf": example / "bench",
        "profile": example / "bench.c2c",
        "run": benched_run,
        "out.html": tmp_path / "out.html",
    }
    done = linesmith("report", *(places.get(one, one) for one in arguments))
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "out.html").exists()


def test_pairs_meet_in_counted_phases_on_lines_of_each_size() -> None:
    layout = struct("four", *(scalar(name) for name in ("one", "two", "three", "four")), scalar("rest", 40))
    pairs = [("one", "two"), ("one", "three"), ("two", "three")]
    left = (Residual(*pair, size, 1.0, part) for pair in pairs for size, part in ((64, 0.0), (128, 1 / 8)))
    found = meetings(Candidate("any", layout, layout, (), tuple(left), 2))
    assert (found.sizes, [(row.first, row.second) for row in found.rows]) == ((64, 128), pairs)
    assert found.rows[0].phases == (("always", "never"), ("always", "2 of 16"))


def rendered(layout: Layout, *found: Finding, title: str = "", sections: int = 1) -> str:
    """The page of a report with these findings and no candidates."""
    suggested = Suggested(ELF, "report.txt", table(layout), (), found)
    return render_profile(suggested, ProfileSection(Profile("report.txt", title, "hitm", ()), 1, sections), ())


PERHAPS = struct("perhaps", scalar("first"), scalar("second"))


def test_a_guess_is_no_title_and_is_not_drawn_and_a_doubt_stands_in_the_answer() -> None:
    """Which of two types lies on the line cannot be told: the page must not look as if it could."""
    hot = meeting(PERHAPS, "first", "second")
    unsure = replace(hot.objects[0], outcome=Outcome.CANNOT_TELL, reason="two types explain the line equally well")
    page = rendered(PERHAPS, replace(hot, objects=(unsure,)))
    assert '<h2 id="line-0">Line 0: object not known</h2>' in page
    assert "<dt>but</dt><dd>two types explain the line equally well</dd>" in page
    assert "<svg" not in page
    misfit = "what is touched at 0x8 hardly fits the likeliest type"
    page = rendered(PERHAPS, replace(hot, objects=(replace(hot.objects[0], doubt=misfit),)))
    assert f'<p class="answer">{hot.triage.sentence}. In doubt: {misfit}.</p>' in page


def test_a_page_is_named_by_its_file_and_not_by_the_words_above_the_report() -> None:
    page = rendered(PERHAPS, meeting(PERHAPS, "first", "second"), title="Baseline", sections=2)
    assert "<h1>report.txt, report 1 of 2: perhaps</h1>" in page
    assert "<dt>headed</dt><dd>Baseline</dd>" in page
    endless = struct("x" * 100_000, *PERHAPS.members)
    page = rendered(endless, meeting(endless, "first", "second"))
    assert f'<h2 id="line-0">Line 0: struct {endless.name[:192]}…</h2>' in page
    assert page.count(endless.name) == 2, "in the diagnosis and among the facts a name without end stands whole"


# Pages that can be read with a keyboard, a screen reader, in the dark, on a narrow screen and on paper


# One browser and one pair of runs for all pages.

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
