# SPDX-License-Identifier: GPL-2.0-or-later
"""Whatever stands in the files, a page runs nothing, asks for nothing and hides nothing."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from finished_run import RUN
from linesmith_command import linesmith
from report_html.browser import Browser
from report_html.conftest import Canary
from report_html.profiled import renamed

from linesmith.analyzer.report.html.run_page import RunFiles, render_run

# One browser and one pair of runs for all pages.
pytestmark = pytest.mark.xdist_group("pages")

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
