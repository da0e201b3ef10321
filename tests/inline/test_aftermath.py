# SPDX-License-Identifier: GPL-2.0-or-later
"""What the change leaves for a person to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from text_cases import files_in

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.inline import inlined

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

SOURCE = files_in(Path(__file__).with_name("trees") / "copied_area.txt")["area.c"]
LIFT = "; free it through the member first, in the function that frees the record"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[RefusalCode, str, str]]:
    tree = tmp_path_factory.mktemp("area")
    (tree / "area.c").write_text(SOURCE)
    result = inlined("area", "lock", tree, print)
    assert not result.standing
    return [(one.code, one.place, one.reason) for one in result.study.sites]


def test_what_is_left_for_a_person_is_told(told: list[tuple[RefusalCode, str, str]]) -> None:
    """A function that always returns one value, and a copy."""
    always, copied = RefusalCode.ALWAYS_SUCCEEDS, RefusalCode.COPIED_OBJECT
    assert {
        (always, "area.c:14", "area_lock_alloc() can no longer fail to allocate the object"),
        (copied, "area.c:30", "area_copy() copies a whole struct area, now with the object `lock`"),
    } <= {*told}


def test_objects_that_are_freed_by_way_of_another_pointer(tmp_path: Path) -> None:
    other = "void lock_drop(struct lock *lock)\n{\n\tfree(lock);\n}\n"
    (tmp_path / "area.c").write_text(f"{SOURCE}\n{other}")
    standing = inlined("area", "lock", tmp_path, print).standing
    assert [(one.code, one.place) for one in standing] == [(RefusalCode.FREED_ELSEWHERE, "area.c:47")]


def test_an_object_that_nothing_is_seen_to_free(tmp_path: Path) -> None:
    (tmp_path / "area.c").write_text(SOURCE.replace("free(area->lock);", "lock_destroy(area->lock);"))
    standing = inlined("area", "lock", tmp_path, print).standing
    assert [str(one) for one in standing] == [
        f"area.c:13: no code that frees `lock` was found, which is passed to lock_destroy{LIFT}"
    ]
