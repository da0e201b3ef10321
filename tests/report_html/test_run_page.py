# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of a run: the verdict first, intervals drawn and told, layouts before and after, what was not checked."""

from __future__ import annotations

import re
import shutil
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from finished_run import RUN
from hand_made import scalar, struct, table
from linesmith_command import linesmith
from measured import comparison
from report_html.browser import Browser
from report_html.conftest import Canary
from report_html.profiled import renamed

from linesmith.analyzer.model import Better, Comparison, MemoryUse, Metric, SlabBasis, VerdictKind
from linesmith.analyzer.report.html.page import Emphasis, layout_pair, memory_rows
from linesmith.analyzer.report.html.run_page import ChangedRecord, RunFiles, render_run

POOL = struct("pool", *(scalar(f"m{number}") for number in range(16)))
# One browser and one pair of runs for all pages.
pytestmark = pytest.mark.xdist_group("pages")


def test_the_verdict_comes_first_and_layouts_of_both_builds_are_drawn(
    browser: Browser, benched_run: Path, run_page: Path
) -> None:
    browser.open(run_page.as_uri())
    sections = ["Verdict", "Layouts", "Compared", "Trials", "Not checked", "Machines and builds"]
    assert browser.texts("h2") == sections
    assert browser.value("document.querySelector('.answer').textContent").startswith("apart is better than baseline")
    # A record that only holds the changed one stands behind it.
    titles = [title.partition(":")[0] for title in browser.texts(".drawing svg > title")]
    assert titles == [*["struct queue"] * 2, *["struct pool"] * 2]
    text = browser.texts(".pair pre")[:2]
    assert [re.findall(r"(>?) +\w.* (\w+)(?:\[112\]| __.*64\)+)?; +/\* +(\d+)", one) for one in text] == [
        [("", "head", "0"), (">", "tail", "8"), ("", "name", "16")],
        [("", "head", "0"), (">", "tail", "64"), ("", "name", "72")],
    ]
    assert [one.partition(",")[0] for one in browser.texts(".lm-moved > title")] == [
        "tail: 8 bytes from byte 8",
        "tail: 8 bytes from byte 64",
    ]
    assert (
        "<td>128 bytes, at least 2 lines</td><td><strong>192 bytes, at least 3 lines</strong></td>"
        in run_page.read_text()
    )
    # Where the run lies is not said.
    assert str(benched_run.resolve()) not in run_page.read_text()
    assert "see artifacts/.logs/" in run_page.read_text()


def test_a_run_with_a_profile_has_its_heat_and_says_why_a_change_helps(browser: Browser, run_page: Path) -> None:
    browser.open(run_page.as_uri())
    hot = [one for one in browser.texts(".lm-cell > title") if "of the record's contended accesses" in one]
    assert [one.partition(":")[0] for one in hot] == ["head", "tail"] * 2
    assert browser.texts("#layouts ~ h4") == ["In which phases they meet", "Why: coherence step by step"]
    table = browser.texts("[aria-label^='Phases in which'] tbody tr > *")
    assert table[0] == "head and tail"
    assert [" ".join(one.split()) for one in table[1:2]] == ["always → becomes never"]
    assert "now" in browser.texts(".steps thead th")
    assert browser.texts(".steps tfoot td.number")[1] == "0"


def test_a_page_in_the_run_directory_is_made_again_and_other_files_stay(benched_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(benched_run, tmp_path / "run"))
    done = linesmith("report", run, "--html", run / "tune.toml")
    assert (done.returncode, "not modified" in done.stderr) == (2, True)
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
    assert (grown, same) == ((old, new, True), (small, small, False))
    pair = layout_pair("pool", (POOL, table(POOL)), (POOL, table(POOL)), Emphasis(), memory=(grown, same))
    page = render_run(RUN, RunFiles("arm", changes=(ChangedRecord(pair),)))
    cells = [" ".join(re.sub("<[^>]*>", "", cell).split()) for cell in re.findall("<t[dh][^>]*>.*?</t[dh]>", page)]
    place = cells.index("inode_cache")
    changed = ["632 → becomes 696", "51 in 8 pages → becomes 46 in 8 pages", "160 → becomes 176", "61.0 → becomes 68.0"]
    assert cells[place + 1 : place + 5] == changed
    assert cells[cells.index("same unchanged") + 3] == "48"


# The width of the drawing of an interval, its middle being no change, and what is kept free for arrows at its ends.
WIDTH, EDGE = 320.0, 14.0
_DRAWN = r'<svg class="strip (arm|equal)".*?<title>([\w-]+):.*?x1="([\d.]+)" y1="12" x2="([\d.]+)".*?</svg>'


def drawn(
    *confirmed: Comparison, noise: tuple[Comparison, ...] = ()
) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """The ends of each interval in the page, equal builds with a star and what goes on with an arrow; and the ticks."""
    page = render_run(replace(RUN, trials=(), confirmed=confirmed, explored=(), noise=noise), RunFiles())
    found = re.finditer(_DRAWN, page, re.DOTALL)
    ends = {
        f"{one[2]}{'*' * (one[1] == 'equal')}{'→' * ('<path' in one[0])}": (float(one[3]), float(one[4]))
        for one in found
    }
    return ends, re.findall('text-anchor="middle">([^<]*)<', page)


def test_better_is_to_the_right_whichever_way_a_metric_counts() -> None:
    seconds = Metric("seconds", "s", Better.LOWER)
    faster = drawn(comparison(0.05, 0.01, VerdictKind.BETTER))
    assert drawn(comparison(0.05, 0.01, VerdictKind.BETTER, metric=seconds)) == faster
    ((low, high),) = faster[0].values()
    assert WIDTH / 2 < low < high


def test_baseline_placebos_and_arms_share_one_scale() -> None:
    equal = (comparison(0.001, 0.005, variant="placebo-1"),)
    ends, ticks = drawn(comparison(0.05), comparison(-0.02, variant="other"), noise=equal)
    assert list(ends) == ["placebo-1*", "moved", "other"]
    assert sum(ends["other"]) < WIDTH < sum(ends["moved"])
    assert (ticks, len(set(ticks))) == (["-6%", "-4%", "-2%", "0", "+2%", "+4%", "+6%"], 7)


def test_an_interval_without_an_end_hides_no_other_and_leaves_the_scale_as_it_would_be() -> None:
    endless = replace(comparison(0.05, variant="endless"), high=1e9)
    ends, _ = drawn(comparison(0.05, 0.01), endless)
    assert list(ends) == ["moved", "endless→"]
    assert ends["moved"][1] - ends["moved"][0] > 15
    assert EDGE <= ends["endless→"][0] < ends["endless→"][1] == WIDTH - EDGE
    ends, ticks = drawn(noise=(replace(endless, low=0.0, variant="placebo-1"),))
    assert (list(ends), ticks[0], ticks[-1]) == (["placebo-1*→"], "-300%", "+300%")


def test_what_a_page_says_depends_on_what_was_found() -> None:
    empty = replace(RUN, trials=(), confirmed=(), explored=(), noise=(), best=None, finished=False, builds=(), facts=())
    page = render_run(empty, RunFiles())
    assert "Not yet: no variant has been confirmed" in page
    assert "<svg" not in page
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


# Whatever stands in the files, a page runs nothing, asks for nothing and hides nothing


# One browser and one pair of runs for all pages.

RAN = "String(window.ran)"
# Each sets ``window.ran`` or asks the server at @ for something, if it is ever taken for more than text.
ATTACKS = (
    "<script>window.ran = 'script'; fetch('@/fetch')</script>",
    "\"><img src='@/image' onerror='window.ran = \"image\"'>",
    "' autofocus onfocus='window.ran = \"focus\"' x='",
    "</style><style>@import url('@/import');</style><link rel='stylesheet' href='@/link'>",
    "</title></svg></pre></code><script src='@/source'></script>",
    "<svg onload='window.ran = \"svg\"'><image href='@/svg-image'/></svg>",
    "<meta http-equiv='refresh' content='0;url=@/refresh'><base href='@/'>",
    "<iframe src='@/frame' srcdoc='<script>parent.ran = 1</script>'></iframe><object data='@/object'></object>",
    "-->]]>{{ 7 * 7 }}{% include 'style.css' %}&lt;b&gt;&#0;",
)
# A member's name with a dot or a bracket in it is a path; this one has none, so that the member can be moved.
PATHLESS = "\"'><svg onload=\"ran='svg'\"><script>ran='script'</script></title>"
# What no reader can see, or what turns the text around it.
UNSEEN = "\x1b[31m\x00\x07\u202e\u2066\u200b\ufeff\u2028\udcff\U000e0041"


def attack(address: str) -> str:
    """All of it in one piece; ``address`` is where the requests would go."""
    return "".join(ATTACKS).replace("@/", f"{address}/") + UNSEEN


def poisoned(value: Any, text: str) -> Any:
    """The same value with ``text`` behind every string in it, however deep."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return value + text
    if isinstance(value, tuple):
        return tuple(poisoned(one, text) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: poisoned(getattr(value, one.name), text) for one in fields(value)})
    return value


def opened(browser: Browser, page: str, folder: Path) -> Path:
    place = folder / "page.html"
    place.write_bytes(page.encode("utf-8", "backslashreplace"))
    browser.open(place.as_uri())
    return place


def test_the_attacks_work_on_a_page_that_does_not_escape(browser: Browser, canary: Canary, tmp_path: Path) -> None:
    """Otherwise the other tests would show nothing."""
    for one in ATTACKS[:2]:
        browser.events.clear()
        opened(browser, f"<!DOCTYPE html><p>{one.replace('@/', canary.address + '/')}</p>", tmp_path)
        assert browser.value(RAN) in ("script", "image")
    assert set(canary.asked) >= {"/image"}
    assert any(address.startswith(canary.address) for address in browser.fetched)


def test_nothing_in_a_run_is_run_or_fetched(browser: Browser, canary: Canary, tmp_path: Path) -> None:
    text = attack(canary.address)
    page = render_run(poisoned(RUN, text), RunFiles(f"moved{text}", f"--- a\n+++ b\n{text}"))
    place = opened(browser, page, tmp_path)
    assert browser.value(RAN) == "undefined"
    assert browser.fetched == [place.as_uri()]
    assert browser.complaints == []
    assert canary.asked == []
    assert browser.value("document.querySelectorAll('script, img, iframe, object, link, base').length") == 0
    assert browser.value("document.querySelector('h1').textContent").startswith(f"exec storm{ATTACKS[0][:20]}")


def test_what_is_not_seen_is_spelled_out(browser: Browser, tmp_path: Path) -> None:
    opened(browser, render_run(poisoned(RUN, UNSEEN), RunFiles()), tmp_path)
    shown = browser.value("document.querySelector('h1').textContent")
    assert shown == (r"exec storm\u001b[31m\u0000\u0007\u202e\u2066\u200b\ufeff\u2028\udcff\udb40\udc41")
    text = browser.value("document.documentElement.textContent")
    assert [one for one in UNSEEN if one in text and one not in "[31m"] == []


def test_nothing_in_an_elf_file_and_a_profile_is_run_or_fetched(
    browser: Browser, canary: Canary, tmp_path: Path
) -> None:
    """Names as an assembler can put them into debug information, and as anyone can write them into a text."""
    text = attack(canary.address).replace("\0", "")
    members = ("leftmost", "guard", "root", "renewed", "created", "name")
    names = {name: name + text for name in ("session_index", "session_index.h", "guard.h")}
    names |= {name: name + PATHLESS for name in members}
    elf, profile = renamed(tmp_path / "demo", names)
    titled = profile.read_text().replace("not recorded on any machine", " ".join(text.split()))
    profile.write_bytes(titled.encode("utf-8", "surrogateescape"))
    place = tmp_path / "out.html"
    done = linesmith("report", elf, profile, "--html", place)
    assert (done.returncode, done.stderr) == (0, "")
    browser.open(place.as_uri())
    assert browser.value(RAN) == "undefined"
    assert browser.fetched == [place.as_uri()]
    assert browser.complaints == []
    assert canary.asked == []
    assert browser.value("document.querySelectorAll('script, img, iframe, object, link, base, image').length") == 0
    assert "session_index<script>" in browser.value("document.querySelectorAll('h2')[1].textContent")
    assert len(browser.texts(".drawing svg")) >= 3


def test_even_a_script_that_got_in_would_not_run(browser: Browser, canary: Canary, tmp_path: Path) -> None:
    """The policy is a second wall: it holds where a template forgot to escape."""
    page = render_run(RUN, RunFiles())
    broken = page.replace(
        "</main>", f"{''.join(ATTACKS[:3] + ATTACKS[5:6]).replace('@/', canary.address + '/')}</main>"
    )
    place = opened(browser, broken, tmp_path)
    assert browser.value(RAN) == "undefined"
    assert canary.asked == []
    assert browser.fetched[0] == place.as_uri()
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)
