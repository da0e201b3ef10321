# SPDX-License-Identifier: GPL-2.0-or-later
"""What the change leaves for a person to do."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.inline import inlined
from linesmith.patches.inline.study import Wanted

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

SOURCE = """\
#include <stdlib.h>
#include <string.h>

struct lock { int taken; };

struct area {
	long start;
	struct lock *lock;
};

static int area_lock_alloc(struct area *area)
{
	area->lock = malloc(sizeof(struct lock));
	if (!area->lock)
		return 0;
	area->lock->taken = 0;
	return 1;
}

static void area_lock_free(struct area *area)
{
	free(area->lock);
}

/* The copy has a lock of its own. */
struct area *area_copy(struct area *from)
{
	struct area *area = malloc(sizeof(*area));

	memcpy(area, from, sizeof(*area));
	if (!area_lock_alloc(area)) {
		free(area);
		return NULL;
	}
	return area;
}

/* area->lock must not be taken. */
void area_free(struct area *area)
{
	area_lock_free(area);
	free(area);
}
"""
LIFT = "; free it by way of the member first, in the function that frees the record"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[RefusalCode, str, str]]:
    tree = tmp_path_factory.mktemp("area")
    (tree / "area.c").write_text(SOURCE)
    result = inlined(Wanted("area", "lock", tree), print)
    assert not result.standing
    return [(one.code, one.place, one.reason) for one in result.sites]


def test_a_function_that_always_returns_one_value_and_who_asks_for_it(told: list[tuple[RefusalCode, str, str]]) -> None:
    code = RefusalCode.ALWAYS_SUCCEEDS
    assert (code, "area.c:14", "area_lock_alloc() cannot fail any more for want of memory for the object") in told
    assert (code, "area.c:31", "area_lock_alloc() always returns 1 (!area_lock_alloc(area))") in told


def test_a_function_of_which_nothing_is_left(told: list[tuple[RefusalCode, str, str]]) -> None:
    assert (RefusalCode.ALWAYS_SUCCEEDS, "area.c:21", "area_lock_free() does nothing any more") in told


def test_a_copy_of_the_whole_record(told: list[tuple[RefusalCode, str, str]]) -> None:
    reason = "area_copy() copies a whole struct area, now with the object `lock`"
    assert (RefusalCode.COPIED_OBJECT, "area.c:30", reason) in told


def test_a_comment_that_speaks_of_the_pointer(told: list[tuple[RefusalCode, str, str]]) -> None:
    reason = "a comment speaks of the pointer (`/* area->lock must not be taken. */`)"
    assert [one for one in told if one[0] is RefusalCode.MENTIONED] == [(RefusalCode.MENTIONED, "area.c:38", reason)]


def test_objects_that_are_freed_by_way_of_another_pointer(tmp_path: Path) -> None:
    other = "void lock_drop(struct lock *lock)\n{\n\tfree(lock);\n}\n"
    (tmp_path / "area.c").write_text(f"{SOURCE}\n{other}")
    standing = inlined(Wanted("area", "lock", tmp_path), print).standing
    assert [(one.code, one.place) for one in standing] == [(RefusalCode.FREED_ELSEWHERE, "area.c:47")]


def test_a_member_of_records_that_are_not_aligned_is_not(tmp_path: Path) -> None:
    (tmp_path / "area.c").write_text(SOURCE.replace("malloc(sizeof(*area))", "calloc(1, sizeof(*area))"))
    result = inlined(Wanted("area", "lock", tmp_path), print)
    assert b"\tstruct lock lock;\n" in (result.series.steps[0].changes[0].after or b"")
    told = [str(one) for one in result.sites if one.code is RefusalCode.CACHE_ALIGNMENT]
    reason = "area.c:28: area_copy() takes a struct area from calloc()"
    assert told == [f"{reason}; take it from aligned_alloc() and align the member, which has been left out"]


def test_an_object_that_nothing_is_seen_to_free(tmp_path: Path) -> None:
    (tmp_path / "area.c").write_text(SOURCE.replace("free(area->lock);", "lock_destroy(area->lock);"))
    standing = inlined(Wanted("area", "lock", tmp_path), print).standing
    assert [str(one) for one in standing] == [
        f"area.c:13: nothing is seen to free `lock`, which is given to lock_destroy{LIFT}"
    ]
