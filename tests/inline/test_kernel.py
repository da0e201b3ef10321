# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel has and programs have not: slab caches, other programs in the tree, records from kmalloc()."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.inline import Inlined, inlined
from linesmith.patches.inline.study import Wanted

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

HEADER = """\
#ifndef _LINUX_AREA_H
#define _LINUX_AREA_H

struct lock { int taken; };

struct area {
	long start;
#ifdef CONFIG_LOCKS
	struct lock *lock;
#endif
};

#endif
"""
UNIT = """\
#include <linux/area.h>

/* Areas. */
static struct kmem_cache *area_cache;
/* Locks of areas. */
static struct kmem_cache *lock_cache;

struct area *area_alloc(void)
{
	struct area *area = kmem_cache_alloc(area_cache, GFP_KERNEL);

	if (!area)
		return NULL;
	area->lock = kmem_cache_zalloc(lock_cache, GFP_KERNEL);
	if (!area->lock)
		goto out_area;
	area->lock->taken = 1;
	return area;

out_area:
	kmem_cache_free(area_cache, area);
	return NULL;
}

void area_free(struct area *area)
{
	kmem_cache_free(lock_cache, area->lock);
	kmem_cache_free(area_cache, area);
}

void area_init(void)
{
	area_cache = kmem_cache_create("area", sizeof(struct area), 0, SLAB_PANIC, NULL);
#ifdef CONFIG_LOCKS
	lock_cache = KMEM_CACHE(lock, SLAB_PANIC);
#endif
}
"""
OTHER = """\
#include <linux/area.h>

struct area *area_first(void)
{
	return kzalloc(sizeof(struct area), GFP_KERNEL);
}

void area_second(void)
{
	struct area *second;

	second = kzalloc(sizeof(*second), GFP_KERNEL);
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "Kbuild": "",
        "scripts/Makefile.build": "",
        "include/linux/area.h": HEADER,
        "mm/area.c": UNIT,
        "mm/other.c": OTHER,
        "tools/testing/area.h": "struct area { struct lock *lock; };\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def made(tree: Path) -> Inlined:
    result = inlined(Wanted("area", "lock", tree), print)
    assert not result.standing
    return result


def after(result: Inlined, file: str) -> str:
    change = next(one for step in result.series.steps for one in step.changes if one.file == file)
    return (change.after or b"").decode()


def test_the_slab_cache_of_the_object_goes_with_its_conditional_and_its_comment(tree: Path) -> None:
    result = made(tree)
    assert result.study.caches.gone == ("lock_cache",)
    text = after(result, "mm/area.c")
    assert text.startswith(
        "#include <linux/area.h>\n\n/* Areas. */\nstatic struct kmem_cache *area_cache;\n\nstruct area *area_alloc("
    )
    assert text.endswith("SLAB_PANIC, NULL);\n}\n")
    assert "lock_cache" not in text


def test_a_label_goes_with_the_allocation_that_could_fail(tree: Path) -> None:
    assert (
        "\t\treturn NULL;\n\tmemset(&area->lock, 0, sizeof(area->lock));\n\tarea->lock.taken = 1;\n\treturn area;\n}\n"
    ) in after(made(tree), "mm/area.c")


def test_a_cache_that_others_use_stays(tree: Path) -> None:
    shared = UNIT.replace(
        "void area_init(void)", "void *spare(void)\n{\n\treturn lock_cache;\n}\n\nvoid area_init(void)"
    )
    (tree / "mm/area.c").write_text(shared)
    result = made(tree)
    assert result.study.caches.gone == ()
    left = [(one.place, one.reason) for one in result.sites if one.code is RefusalCode.CACHE_LEFT]
    assert left == [
        ("mm/area.c:33", "the slab cache lock_cache stays, since it is used otherwise too (`return lock_cache;`)")
    ]


def test_the_member_is_aligned_as_the_kernel_says_it(tree: Path) -> None:
    assert after(made(tree), "include/linux/area.h").endswith(
        "\tlong start;\n#ifdef CONFIG_LOCKS\n\tstruct lock lock ____cacheline_aligned_in_smp;\n#endif\n};\n\n#endif\n"
    )


def test_records_that_are_not_aligned_are_told_wherever_they_come_from(tree: Path) -> None:
    told = [(one.place, one.reason) for one in made(tree).sites if one.code is RefusalCode.CACHE_ALIGNMENT]
    assert told == [
        ("mm/other.c:12", "area_second() takes a struct area from kzalloc()"),
        ("mm/area.c:33", "the slab cache area_cache asks for no alignment"),
    ]


def test_other_programs_of_the_tree_are_told(tree: Path) -> None:
    told = [one.place for one in made(tree).sites if one.code is RefusalCode.OTHER_PROGRAM]
    assert told == ["tools/testing/area.h:1"]


def test_flags_that_ask_for_zero_give_zero_bytes(tree: Path) -> None:
    asked = UNIT.replace(
        "kmem_cache_zalloc(lock_cache, GFP_KERNEL)", "kmem_cache_alloc(lock_cache, GFP_KERNEL | __GFP_ZERO)"
    )
    (tree / "mm/area.c").write_text(asked)
    assert "\tmemset(&area->lock, 0, sizeof(area->lock));\n" in after(made(tree), "mm/area.c")


@pytest.mark.parametrize(
    ("created", "code"),
    [
        ('kmem_cache_create("lock", sizeof(struct lock), 0, SLAB_PANIC, lock_set_up)', RefusalCode.UNKNOWN_ALLOCATION),
        ("KMEM_CACHE(lock, SLAB_PANIC | SLAB_TYPESAFE_BY_RCU)", RefusalCode.PUBLISHED),
        ("lock_cache_made()", RefusalCode.UNKNOWN_ALLOCATION),
    ],
)
def test_objects_that_their_slab_cache_keeps_set_up_stand_in_the_way(
    tree: Path, created: str, code: RefusalCode
) -> None:
    (tree / "mm/area.c").write_text(UNIT.replace("KMEM_CACHE(lock, SLAB_PANIC)", created))
    assert [one.code for one in inlined(Wanted("area", "lock", tree), print).standing] == [code]
