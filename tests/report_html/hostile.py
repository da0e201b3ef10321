# SPDX-License-Identifier: GPL-2.0-or-later
"""Text that wants to run, to fetch, or to show something else than it is, and how it gets everywhere."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

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
