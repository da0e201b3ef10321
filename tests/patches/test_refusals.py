# SPDX-License-Identifier: GPL-2.0-or-later
"""Refusals are data: a code that is explained, a place, a reason, and what lifts them."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from patch_cases import behind, edited

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_every_code_is_explained_once() -> None:
    explained = re.findall(r"^\| `([a-z-]+)` \|", (DOCS / "refusals.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(explained) == sorted(RefusalCode)


def test_an_error_carries_its_refusal_and_says_it_in_one_sentence() -> None:
    with pytest.raises(EditRefused) as caught:
        edited(b"struct s {\n\tint a; int b;\n\tint c;\n};\n", [behind("a", "c")], "b c a")
    assert caught.value.refusal == Refusal(
        RefusalCode.JOINT,
        "include/linux/one.h:2",
        "`a`, `b` are on one line",
        "give it a declaration of its own first",
    )
    assert str(caught.value) == (
        "include/linux/one.h:2: `a`, `b` are on one line; give it a declaration of its own first"
    )


def test_what_cannot_be_lifted_says_nothing_of_it() -> None:
    assert str(Refusal(RefusalCode.USER_ABI, "a.h:1", "it is shared")) == "a.h:1: it is shared"


def test_a_refusal_passes_from_process_to_process() -> None:
    refused = EditRefused(Refusal(RefusalCode.NOT_C, "a.h:1", "it is no C"))
    assert pickle.loads(pickle.dumps(refused)).refusal == refused.refusal  # noqa: S301 - our own bytes
