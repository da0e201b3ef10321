# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kernel has and programs have not: slab caches, other programs in the tree, records from kmalloc()."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from patch_cases import write_files
from text_cases import files_in

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.inline import Inlined, inlined

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

FILES = files_in(Path(__file__).with_name("trees") / "kernel.txt")
UNIT = FILES["mm/area.c"]


def made(folder: Path, unit: str = UNIT) -> Inlined:
    """What becomes of ``area.lock`` in the kernel with this ``mm/area.c``."""
    return inlined("area", "lock", write_files(folder, FILES | {"mm/area.c": unit}), print)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Inlined:
    result = made(tmp_path_factory.mktemp("kernel"))
    assert not result.standing
    return result


def after(result: Inlined, file: str) -> str:
    change = next(one for step in result.series.steps for one in step.changes if one.file == file)
    return (change.after or b"").decode()


def test_the_slab_cache_of_the_object_goes_with_its_conditional_and_its_comment(plain: Inlined) -> None:
    assert plain.study.caches.gone == ("lock_cache",)
    text = after(plain, "mm/area.c")
    assert text.startswith(
        "#include <linux/area.h>\n\n/* Areas. */\nstatic struct kmem_cache *area_cache;\n\nstruct area *area_alloc("
    )
    assert text.endswith("SLAB_PANIC, NULL);\n}\n")
    assert "lock_cache" not in text


def test_the_member_is_aligned_as_the_kernel_says_it(plain: Inlined) -> None:
    assert after(plain, "include/linux/area.h").endswith(
        "\tlong start;\n#ifdef CONFIG_LOCKS\n\tstruct lock lock ____cacheline_aligned_in_smp;\n#endif\n};\n\n#endif\n"
    )


def test_a_slab_cache_without_alignment_and_other_programs_are_listed(plain: Inlined) -> None:
    assert [(one.code, one.place, one.reason) for one in plain.study.sites[:2]] == [
        (RefusalCode.OTHER_PROGRAM, "tools/testing/area.h:1", "another program has a struct area with this member"),
        (RefusalCode.CACHE_ALIGNMENT, "mm/area.c:33", "this slab cache of struct area asks for no alignment"),
    ]


def test_a_cache_that_others_use_stays_and_flags_that_ask_for_zero_give_zero_bytes(tmp_path: Path) -> None:
    shared = UNIT.replace(
        "void area_init(void)", "void *spare(void)\n{\n\treturn lock_cache;\n}\n\nvoid area_init(void)"
    )
    asked = "kmem_cache_alloc(lock_cache, GFP_KERNEL | __GFP_ZERO)"
    result = made(tmp_path, shared.replace("kmem_cache_zalloc(lock_cache, GFP_KERNEL)", asked))
    assert result.study.caches.gone == ()
    left = [(one.place, one.reason) for one in result.study.sites if one.code is RefusalCode.CACHE_LEFT]
    assert left == [
        ("mm/area.c:33", "the slab cache lock_cache stays, since it is used otherwise too (`return lock_cache;`)")
    ]
    assert "\tmemset(&area->lock, 0, sizeof(area->lock));\n" in after(result, "mm/area.c")


@pytest.mark.parametrize(
    ("created", "code"),
    [
        ('kmem_cache_create("lock", sizeof(struct lock), 0, SLAB_PANIC, lock_set_up)', RefusalCode.UNKNOWN_ALLOCATION),
        ("KMEM_CACHE(lock, SLAB_PANIC | SLAB_TYPESAFE_BY_RCU)", RefusalCode.PUBLISHED),
        ("lock_cache_made()", RefusalCode.UNKNOWN_ALLOCATION),
    ],
)
def test_objects_that_their_slab_cache_keeps_set_up_stand_in_the_way(
    tmp_path: Path, created: str, code: RefusalCode
) -> None:
    standing = made(tmp_path, UNIT.replace("KMEM_CACHE(lock, SLAB_PANIC)", created)).standing
    assert [one.code for one in standing] == [code]
