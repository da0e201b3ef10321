# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a profile: maps, readers and writers, coherence steps, phases and memory of what is recommended."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import meeting, scalar, struct, table
from linesmith_command import linesmith
from report_html.browser import Browser

from linesmith.analyzer.model import Candidate, ElfIdentity, Finding, Layout, Outcome, Profile, Residual
from linesmith.analyzer.report.candidate import Suggested, meetings
from linesmith.analyzer.report.findings import ProfileSection
from linesmith.analyzer.report.html.profile_page import render_profile

# One browser and one pair of runs for all pages.
pytestmark = pytest.mark.xdist_group("pages")

ELF = ElfIdentity("vmlinux", "0123abcd", "x86-64", "ET_EXEC", True, 8, True, False)


def test_the_page_goes_from_what_lies_on_a_line_to_what_to_do(
    browser: Browser, example: tuple[Path, Path], profile_page: Path
) -> None:
    browser.open(profile_page.as_uri())
    assert browser.texts("h2") == ["Overview", "Line 0: struct session_index", "Not checked", "Samples"]
    (what,) = re.findall(r"^1  session_index: (.*), candidate qlkgp$", linesmith("suggest", *example).stdout, re.M)
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
    assert str(example[0].parent) not in profile_page.read_text()
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
    example: tuple[Path, Path], benched_run: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    places = {"elf": example[0], "profile": example[1], "run": benched_run, "out.html": tmp_path / "out.html"}
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
    misfit = "what is touched at 0x8 hardly fits it"
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
