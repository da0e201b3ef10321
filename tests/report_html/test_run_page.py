# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: the verdict first, intervals drawn and told, layouts before and after, what was not checked."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from c_source import compiled
from finished_run import RUN
from hand_made import scalar, struct, table
from linesmith_command import linesmith
from measured import comparison
from report_html.browser import Browser

from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.cli.run_changes import Variant, record_changes
from linesmith.analyzer.model import Better, MemoryUse, Metric, SlabBasis, VerdictKind
from linesmith.analyzer.report.html.forest import forests
from linesmith.analyzer.report.html.layout_pair import Emphasis, layout_pair
from linesmith.analyzer.report.html.memory_table import memory_rows
from linesmith.analyzer.report.html.run_page import RunFiles, render_run
from linesmith.analyzer.report.html.strip import EDGE, WIDTH, scale_for

# One browser and one pair of runs for all pages.
pytestmark = pytest.mark.xdist_group("pages")


class Elements(HTMLParser):
    """Names of all elements that begin."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.names.append(tag)


def reported(run: Path, folder: Path) -> Path:
    """The page of a run."""
    done = linesmith("report", run, "--html", folder / "out.html")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder / "out.html"


def test_the_verdict_comes_first_and_layouts_of_both_builds_are_drawn(
    browser: Browser, benched_run: Path, tmp_path: Path
) -> None:
    page = reported(benched_run, tmp_path)
    browser.open(page.as_uri())
    sections = ["Verdict", "Layouts", "Compared", "Trials", "Not checked", "Machines and builds"]
    assert browser.texts("h2") == sections
    assert browser.value("document.querySelector('.answer').textContent").startswith("apart is better than baseline")
    assert [title.partition(":")[0] for title in browser.texts(".drawing svg > title")] == ["struct queue"] * 2
    text = browser.texts(".pair pre")
    assert [re.findall(r"(>?) +\w.* (\w+)(?:\[112\])?; +/\* +(\d+)", one) for one in text] == [
        [("", "head", "0"), (">", "tail", "8"), ("", "name", "16")],
        [("", "name", "8"), (">", "tail", "120")],
    ]
    assert browser.texts(".lm-moved > title") == [
        "tail: 8 bytes from byte 8, long int; moved",
        "tail: 8 bytes from byte 120, long int; moved",
    ]
    # Where the run lies is not said.
    assert str(benched_run.resolve()) not in page.read_text()
    assert "see artifacts/.logs/" in page.read_text()


def test_a_search_has_the_heat_of_its_recording_and_says_why_its_winner_helps(
    browser: Browser, tuned_run: Path, tmp_path: Path
) -> None:
    browser.open(reported(tuned_run, tmp_path).as_uri())
    hot = [one for one in browser.texts(".lm-cell > title") if "of the record's contended samples" in one]
    assert [one.partition(":")[0] for one in hot] == ["head", "tail"] * 2
    assert browser.texts("h2")[:4] == [
        *("Verdict", "Layouts", "Confirmed, on runs made after the choice", "Explored, on the runs of the search"),
    ]
    assert re.match(r"what v\d does: (move|align) ", browser.texts("#verdict ~ ul > li")[0])
    assert browser.texts("#layouts ~ h4") == ["In which phases they meet", "Why: coherence step by step"]
    table = browser.texts("[aria-label^='Phases in which'] tbody tr > *")
    assert table[0] == "head and tail"
    assert [" ".join(one.split()) for one in table[1:2]] == ["always → becomes never"]
    assert browser.texts(".phase figcaption")[:2] == ["0: meet", "0: apart"]
    assert "now" in browser.texts(".steps thead th")
    assert browser.texts(".steps tfoot td.number")[1] == "0"


def test_a_page_in_the_run_directory_is_made_again_and_other_files_stay(benched_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(benched_run, tmp_path / "run"))
    done = linesmith("report", run, "--html", run / "tune.toml")
    assert (done.returncode, "only read" in done.stderr) == (2, True)
    for _ in range(2):
        done = linesmith("report", run, "--html", run / "page.html")
        assert (done.returncode, done.stderr) == (0, "")
    (run / "page.html").write_text("<!DOCTYPE html>\n<p>of somebody else")
    assert linesmith("report", run, "--html", run / "page.html").returncode == 2


def test_memory_is_told_before_and_after_what_costs_more_first() -> None:
    small = MemoryUse("same", SlabBasis.ASSUMED, 192, 192, 0, 21, 48, 20 << 20)
    old = MemoryUse("inode_cache", SlabBasis.COMPUTED, 632, 640, 3, 51, 160, 61 << 20)
    new = replace(old, object_bytes=696, stride=704, objects_per_slab=46, pages_per_1000=176, bytes_per_100000=68 << 20)
    grown, same = memory_rows((small, old), (small, new))
    assert (same.cache, same.changed, same.pages) == ("same", False, ("48", "48"))
    assert grown.objects_per_slab == ("51 in 8 pages", "46 in 8 pages")
    assert (grown.pages, grown.mebibytes) == (("160", "176"), ("61.0", "68.0"))


def test_better_is_to_the_right_whichever_way_a_metric_counts() -> None:
    seconds = Metric("seconds", "s", Better.LOWER)
    faster = comparison(0.05, 0.01, VerdictKind.BETTER)
    shorter = comparison(0.05, 0.01, VerdictKind.BETTER, metric=seconds)
    plots = [plot.rows[0].strip for plot in forests((faster, shorter))]
    assert plots[0].low > WIDTH / 2
    assert plots[0].low < plots[0].middle < plots[0].high
    assert plots[1] == plots[0]


def test_baseline_placebos_and_arms_share_one_scale() -> None:
    moved, other = comparison(0.05), comparison(-0.02, variant="other")
    (plot,) = forests((moved, other), (comparison(0.001, 0.005, variant="placebo-1"),))
    assert [(row.kind, row.variant) for row in plot.rows] == [
        ("equal", "placebo-1"),
        ("arm", "moved"),
        ("arm", "other"),
    ]
    assert plot.rows[2].strip.middle < plot.zero < plot.rows[1].strip.middle


def test_an_interval_without_an_end_hides_no_other_and_leaves_the_scale_as_it_would_be() -> None:
    endless = replace(comparison(0.05, variant="endless"), high=1e9)
    (plot,) = forests((comparison(0.05, 0.01), endless))
    assert [row.strip.open_high for row in plot.rows] == [False, True]
    assert plot.rows[0].strip.high - plot.rows[0].strip.low > 15
    (plot,) = forests((), (replace(endless, low=0.0, variant="placebo-1"),))
    assert plot.rows[0].strip.open_high
    assert (plot.ticks[0].text, plot.ticks[-1].text) == ("-300%", "+300%")


def test_a_scale_keeps_to_its_drawing() -> None:
    drawn = scale_for([0.1, -0.3], [-0.9, 0.4])
    assert drawn.at(-5.0) == EDGE
    assert drawn.at(5.0) == WIDTH - EDGE
    assert [tick.at for tick in drawn.ticks()] == sorted(tick.at for tick in drawn.ticks())
    assert 3 <= len(drawn.ticks()) <= 11


def test_what_a_page_says_depends_on_what_was_found() -> None:
    empty = replace(RUN, trials=(), confirmed=(), explored=(), noise=(), best=None, finished=False, builds=(), facts=())
    page = render_run(empty, RunFiles())
    assert "Not yet: no variant has been confirmed" in page
    assert "svg" not in Elements(page).names
    page = render_run(replace(RUN, best=None), RunFiles("moved", "+patch", (), "Every record is laid out as before"))
    assert "moved is not confirmed to be better" in page
    assert "The patch of moved, not confirmed" in page
    page = render_run(RUN, RunFiles())
    for kind, sign, word in (("better", "▲", "better"), ("no-difference-seen", "=", "no difference seen")):
        assert f'<span class="verdict {kind}"><span aria-hidden="true">{sign} </span>{word}</span>' in page
    page = render_run(RUN, RunFiles("moved", "", (), "The build of moved is gone or has no debug information"))
    assert "<p>The build of moved is gone or has no debug information.</p>" in page
    trials = tuple(replace(RUN.trials[0], number=number, variant=f"v{number}") for number in range(1000))
    page = render_run(replace(RUN, trials=trials), RunFiles())
    assert "800 more are in the JSON report" in page
    assert len(page) < 1_000_000


POOL = """\
struct lock { long count ALIGNED; long owner; };
struct pool { long used; struct lock lock; } pool;
"""


def test_records_that_only_hold_a_changed_one_stand_behind_it(tmp_path: Path) -> None:
    """An alignment in a record makes whatever holds it larger; its own declaration is what the reader looks for."""
    aligned = {"old": "", "new": "__attribute__((aligned(64)))"}
    before, after = (compiled(tmp_path, POOL.replace("ALIGNED", one), name=name) for name, one in aligned.items())
    found, more = record_changes(Variant("v1", load(before), load(after), "", None))
    assert ([(one.pair.title, one.own) for one in found], more) == ([("struct lock", True), ("struct pool", False)], 0)
    page = render_run(RUN, RunFiles("moved", "", found))
    assert "<td>16 bytes, at least 1 line</td><td><strong>64 bytes, at least 1 line</strong></td>" in page
    assert page.index("Both layouts of struct pool") > page.index("struct lock: 16 bytes")


def test_the_lines_of_a_size_are_the_fewest() -> None:
    pool = struct("pool", *(scalar(f"m{number}") for number in range(16)))
    pair = layout_pair("pool", (pool, table(pool)), (pool, table(pool)), Emphasis())
    assert pair.before.size == "128 bytes, at least 2 lines"
