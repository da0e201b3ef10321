# SPDX-License-Identifier: GPL-2.0-or-later
"""An object of its own becomes a member: on small programs and a small kernel, with Coccinelle and gcc."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest
from patch_cases import write_files
from text_cases import files_in

from linesmith.analyzer.base.errors import EditRefused
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.inline import Inlined, inlined

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

FILES = files_in(Path(__file__).with_name("trees") / "queue.txt")
COPIES = FILES.pop("copy.c")
HEADER, QUEUE, MAIN = FILES.values()


def made(tree: Path, more: dict[str, str] | None = None) -> Inlined:
    """What becomes of ``queue.counters`` in the program with ``more`` files, or other ones."""
    return inlined("queue", "counters", write_files(tree, FILES | (more or {})), print)


def places(refusals: Iterable[Refusal]) -> list[tuple[RefusalCode, str]]:
    return [(one.code, one.place) for one in refusals]


def applied(tree: Path, result: Inlined) -> dict[str, str]:
    """The files after each step in turn; that the tree itself is as before is checked on the way."""
    content = {path.name: path.read_bytes() for path in tree.iterdir()}
    for step in result.series.steps:
        for change in step.changes:
            assert content[change.file] == change.before
            assert change.after is not None
            content[change.file] = change.after
    return {name: text.decode() for name, text in content.items()}


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Inlined]:
    tree = tmp_path_factory.mktemp("queue")
    return tree, made(tree)


def test_the_changed_program_compiles_and_says_the_same(queue: tuple[Path, Inlined], tmp_path: Path) -> None:
    for name, text in applied(*queue).items():
        (tmp_path / name).write_text(text)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "main.c", "queue.c"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=True).stdout == "1 1\n"


def test_a_type_that_is_declared_behind_its_holder_moves_in_front_of_it(tmp_path: Path) -> None:
    start, end = HEADER.index("/* What is counted"), HEADER.index("struct queue {")
    late = HEADER[:start] + HEADER[end:].replace("static inline", f"{HEADER[start:end]}static inline", 1)
    result = made(tmp_path, {"queue.h": late})
    assert not result.standing
    moved, embedded = (step.message.partition("\n")[0] for step in result.series.steps)
    assert moved == "queue: move struct counters in front of struct queue"
    assert embedded == "queue: make counters a member of struct queue"
    assert {one.after for one in result.series.steps[0].changes} == {HEADER.encode()}


def test_a_type_of_another_header_moves_where_that_includes_the_record(tmp_path: Path) -> None:
    start, end = HEADER.index("/* What is counted"), HEADER.index("struct queue {")
    apart = HEADER[:start] + HEADER[end:]
    files = {"queue.h": apart, "counters.h": f'#include "queue.h"\n\n{HEADER[start:end]}'}
    (tmp_path / "one").mkdir()
    result = made(tmp_path / "one", files)
    assert not result.standing
    assert applied(tmp_path / "one", result)["counters.h"] == '#include "queue.h"\n\n'
    files["counters.h"] = HEADER[start:end]
    (tmp_path / "two").mkdir()
    standing = made(tmp_path / "two", files).standing
    assert [(one.code, one.place) for one in standing] == [(RefusalCode.TYPE_ORDER, "counters.h:2")]


def test_the_object_stands_last_on_a_line_of_its_own(queue: tuple[Path, Inlined]) -> None:
    assert applied(*queue)["queue.h"].split("struct queue {\n")[1].split("};")[0] == (
        "\tint length;\n"
        "\tstruct queue *next;\n"
        "\t/* What went through. */\n"
        "\tstruct counters counters;\t/* one per queue */\n"
    )


def test_allocation_and_release_go_and_zeroed_bytes_stay_zero(queue: tuple[Path, Inlined]) -> None:
    after = applied(*queue)["queue.c"]
    assert (
        "\t\treturn NULL;\n"
        "\tmemset(&queue->counters, 0, sizeof(queue->counters));\n"
        "\tqueue->length = length;\n"
        "\tcounters_reset(&queue->counters);\n"
    ) in after
    assert after.split("void queue_free(struct queue *queue)\n")[1].startswith("{\n\tfree(queue);\n}\n")


ODD = "void odd(struct queue *queue)\n{\n\tgoto nowhere;\n\tqueue->counters->lost++;\n}\n"
FIRST = "static struct counters first_counters;\nstruct queue first = { .counters = &first_counters };\n"
LINK = "struct link { struct counters *counters; };\n"
ROWS = "".join(f"\t{{ .length = {number} }}, /* a queue without counters of its own */\n" for number in range(12))
TABLE = f"{FIRST.splitlines()[0]}\nstruct queue all[] = {{\n{ROWS}\t{{ .counters = &first_counters }},\n}};\n"
SIZED = "struct link sized = { .counters = (void *)sizeof(struct queue) };\n"
SET = QUEUE.replace("queue->length = length;", "queue->length = length;\n\tqueue->counters = queue->next->counters;")


@pytest.mark.parametrize(
    ("unit", "code", "line"),
    [
        (SET, RefusalCode.SHARED, 15),
        (f"{QUEUE}\n{ODD}", RefusalCode.NOT_PARSED, 34),
        (f"{QUEUE}\n{FIRST}", RefusalCode.INITIALISER, 32),
        (f"{QUEUE}\n{LINK}{TABLE}{SIZED}", RefusalCode.INITIALISER, 46),
    ],
    ids=["set from elsewhere", "not parsed by Coccinelle", "initialised", "far behind the type; not of another record"],
)
def test_what_stands_in_the_way_is_told(tmp_path: Path, unit: str, code: RefusalCode, line: int) -> None:
    result = made(tmp_path, {"queue.c": unit})
    assert {*places(result.standing)} == {(code, f"queue.c:{line}")}
    assert not result.series.steps or code is not RefusalCode.SHARED


def test_another_record_with_a_member_of_that_name_is_left_alone(tmp_path: Path) -> None:
    """An allocation may be cast."""
    other = "struct link { struct counters *counters; };\n"
    use = "void link_reset(struct link *link)\n{\n\tcounters_reset(link->counters);\n}\n"
    cast = QUEUE.replace("= calloc(", "= (struct counters *)calloc(").replace("= malloc(", "= (struct queue *) malloc(")
    result = made(tmp_path, {"queue.c": f"{cast}\n{other}\n{use}"})
    assert "struct queue *P;" in result.rules
    after = applied(tmp_path, result)["queue.c"]
    assert "counters_reset(link->counters);" in after
    assert "counters_reset(&queue->counters);" in after
    assert "\tmemset(&queue->counters, 0, sizeof(queue->counters));\n" in after
    assert "(struct queue *) malloc(sizeof(*queue))" in " ".join(after.split())


@pytest.mark.parametrize(
    ("declared", "code"),
    [
        ("struct counters __rcu *counters;", RefusalCode.ANNOTATED_POINTER),
        ("struct counters *counters, *others;", RefusalCode.JOINT),
        ("struct counters **counters;", RefusalCode.POINTER_KIND),
        ("void *counters;", RefusalCode.POINTER_KIND),
        ("union { struct counters *counters; long number; };", RefusalCode.POINTER_KIND),
    ],
)
def test_what_is_no_plain_pointer_to_one_record_is_refused(tmp_path: Path, declared: str, code: RefusalCode) -> None:
    header = HEADER.replace("struct counters *counters;\t/* one per queue */", declared)
    with pytest.raises(EditRefused) as refused:
        made(tmp_path, {"queue.h": header})
    assert refused.value.refusal.code is code


def test_values_by_position_stand_in_the_way(tmp_path: Path) -> None:
    texts = [
        "struct queue first = { 1, NULL, NULL };",
        "static struct queue more[2] = { { 1 }, { .length = 2 } };",
        "void f(struct queue *q) { *q = (struct queue){ 1, NULL, NULL }; }",
    ]
    standing = made(tmp_path, {f"{at}.c": f'#include "queue.h"\n{text}\n' for at, text in enumerate(texts)}).standing
    lines = ["0.c:2", "1.c:2", "2.c:2"]
    assert places(standing) == [(RefusalCode.POSITIONAL, line) for line in lines]


def test_copies_of_the_whole_record_and_what_relies_on_the_order_are_told(tmp_path: Path) -> None:
    text = '_Static_assert(offsetof(struct queue, next) == 16, "order");\nstruct queue none = { 0 };\n'
    result = made(tmp_path, {"copy.c": COPIES, "queue.c": f"{QUEUE}\n{text}"})
    assert not result.standing
    copies = [one.place for one in result.sites if one.code is RefusalCode.COPIED_OBJECT]
    assert sorted(copies) == ["copy.c:4", "copy.c:6", "copy.c:7"]
    assert [one.place for one in result.sites if one.code is RefusalCode.OFFSET] == ["queue.c:31"]


# What the change leaves for a person to do

AREA = files_in(Path(__file__).with_name("trees") / "copied_area.txt")["area.c"]
LIFT = "; free it through the member first, in the function that frees the record"


@pytest.fixture(scope="module")
def area_told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[RefusalCode, str, str]]:
    tree = tmp_path_factory.mktemp("area")
    (tree / "area.c").write_text(AREA)
    result = inlined("area", "lock", tree, print)
    assert not result.standing
    return [(one.code, one.place, one.reason) for one in result.sites]


def test_what_is_left_for_a_person_is_told(area_told: list[tuple[RefusalCode, str, str]]) -> None:
    """A function that always returns one value, and a copy."""
    always, copied = RefusalCode.ALWAYS_SUCCEEDS, RefusalCode.COPIED_OBJECT
    assert {
        (always, "area.c:14", "area_lock_alloc() can no longer fail to allocate the object"),
        (copied, "area.c:30", "area_copy() copies a whole struct area, now with the object `lock`"),
    } <= {*area_told}


def test_objects_that_are_freed_by_way_of_another_pointer(tmp_path: Path) -> None:
    other = "void lock_drop(struct lock *lock)\n{\n\tfree(lock);\n}\n"
    (tmp_path / "area.c").write_text(f"{AREA}\n{other}")
    standing = inlined("area", "lock", tmp_path, print).standing
    assert [(one.code, one.place) for one in standing] == [(RefusalCode.FREED_ELSEWHERE, "area.c:47")]


def test_an_object_that_nothing_is_seen_to_free(tmp_path: Path) -> None:
    (tmp_path / "area.c").write_text(AREA.replace("free(area->lock);", "lock_destroy(area->lock);"))
    standing = inlined("area", "lock", tmp_path, print).standing
    assert [str(one) for one in standing] == [
        f"area.c:13: no code that frees `lock` was found, which is passed to lock_destroy{LIFT}"
    ]


# What the kernel has and programs have not: slab caches, other programs in the tree, records from kmalloc()

KERNEL = files_in(Path(__file__).with_name("trees") / "kernel.txt")
AREA_OF_KERNEL = KERNEL["mm/area.c"]


def made_of_kernel(folder: Path, unit: str = AREA_OF_KERNEL) -> Inlined:
    """What becomes of ``area.lock`` in the kernel with this ``mm/area.c``."""
    return inlined("area", "lock", write_files(folder, KERNEL | {"mm/area.c": unit}), print)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Inlined:
    result = made_of_kernel(tmp_path_factory.mktemp("kernel"))
    assert not result.standing
    return result


def after_of(result: Inlined, file: str) -> str:
    change = next(one for step in result.series.steps for one in step.changes if one.file == file)
    return (change.after or b"").decode()


def test_the_slab_cache_of_the_object_goes_with_its_conditional_and_its_comment(plain: Inlined) -> None:
    assert plain.caches == ("lock_cache",)
    text = after_of(plain, "mm/area.c")
    assert text.startswith(
        "#include <linux/area.h>\n\n/* Areas. */\nstatic struct kmem_cache *area_cache;\n\nstruct area *area_alloc("
    )
    assert text.endswith("SLAB_PANIC, NULL);\n}\n")
    assert "lock_cache" not in text


def test_the_member_is_aligned_as_the_kernel_says_it(plain: Inlined) -> None:
    assert after_of(plain, "include/linux/area.h").endswith(
        "\tlong start;\n#ifdef CONFIG_LOCKS\n\tstruct lock lock ____cacheline_aligned_in_smp;\n#endif\n};\n\n#endif\n"
    )


def test_a_slab_cache_without_alignment_and_other_programs_are_listed(plain: Inlined) -> None:
    assert [(one.code, one.place, one.reason) for one in plain.sites[:2]] == [
        (RefusalCode.OTHER_PROGRAM, "tools/testing/area.h:1", "another program has a struct area with this member"),
        (RefusalCode.CACHE_ALIGNMENT, "mm/area.c:33", "this slab cache of struct area asks for no alignment"),
    ]


def test_a_cache_that_others_use_stays_and_flags_that_ask_for_zero_give_zero_bytes(tmp_path: Path) -> None:
    shared = AREA_OF_KERNEL.replace(
        "void area_init(void)", "void *spare(void)\n{\n\treturn lock_cache;\n}\n\nvoid area_init(void)"
    )
    asked = "kmem_cache_alloc(lock_cache, GFP_KERNEL | __GFP_ZERO)"
    result = made_of_kernel(tmp_path, shared.replace("kmem_cache_zalloc(lock_cache, GFP_KERNEL)", asked))
    assert result.caches == ()
    left = [(one.place, one.reason) for one in result.sites if one.code is RefusalCode.CACHE_LEFT]
    assert left == [
        ("mm/area.c:33", "the slab cache lock_cache stays, since it is used otherwise too (`return lock_cache;`)")
    ]
    assert "\tmemset(&area->lock, 0, sizeof(area->lock));\n" in after_of(result, "mm/area.c")


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
    standing = made_of_kernel(tmp_path, AREA_OF_KERNEL.replace("KMEM_CACHE(lock, SLAB_PANIC)", created)).standing
    assert [one.code for one in standing] == [code]


DECLARED, CREATED = "static struct kmem_cache *lock_cache", "\tlock_cache = KMEM_CACHE"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (f"{DECLARED};", f"{DECLARED} __ro_after_init;"),
        (CREATED, "\t/* They may fail. */ lock_cache = KMEM_CACHE"),
        (CREATED, f"\tif (wanted)\n\t{CREATED}"),
    ],
    ids=["with an attribute", "created behind a comment", "created on a condition"],
)
def test_a_slab_cache_goes_however_it_is_declared_and_created(tmp_path: Path, old: str, new: str) -> None:
    result = made_of_kernel(tmp_path, AREA_OF_KERNEL.replace(old, new))
    assert result.caches == ("lock_cache",)
    assert "lock_cache" not in after_of(result, "mm/area.c")


def test_a_comment_makes_no_slab_cache_static(tmp_path: Path) -> None:
    shared = AREA_OF_KERNEL.replace(
        f"/* Locks of areas. */\n{DECLARED}", "/* not static */\nstruct kmem_cache *lock_cache"
    )
    assert made_of_kernel(tmp_path, shared).caches == ()


def test_brackets_around_the_pointer_in_its_tests_go_along(tmp_path: Path) -> None:
    unit = AREA.replace("\tfree(area->lock);", "\tif ((area->lock) != NULL)\n\t\tfree(area->lock);")
    (tmp_path / "area.c").write_text(unit.replace("if (!area->lock)", "if ((area->lock) == NULL)"))
    result = inlined("area", "lock", tmp_path, print)
    assert not result.standing
    after = after_of(result, "area.c")
    assert "\tarea->lock.taken = 0;\n\treturn 1;\n" in after
    assert "static void area_lock_free(struct area *area)\n{\n}\n" in after
