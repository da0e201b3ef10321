# SPDX-License-Identifier: GPL-2.0-or-later
"""An object of its own becomes a member: on a small program, with Coccinelle and gcc."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from linesmith.analyzer.errors import EditRefused
from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.inline import Inlined, inlined
from linesmith.patches.inline.study import Wanted

pytestmark = pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")

HEADER = """\
#ifndef QUEUE_H
#define QUEUE_H

#include <stdlib.h>
#include <string.h>

struct queue {
	int length;
	/* What went through. */
	struct counters *counters;	/* one per queue */
	struct queue *next;
};

/* What is counted. */
struct counters {
	unsigned long sent;
	unsigned long lost;
};

static inline unsigned long queue_sent(const struct queue *queue)
{
	return queue->counters->sent;
}

struct queue *queue_make(int length);
void queue_free(struct queue *queue);
void counters_reset(struct counters *counters);

#endif
"""
QUEUE = """\
#include "queue.h"

struct queue *queue_make(int length)
{
	struct queue *queue = malloc(sizeof(*queue));

	if (!queue)
		return NULL;
	queue->counters = calloc(1, sizeof(*queue->counters));
	if (!queue->counters) {
		free(queue);
		return NULL;
	}
	queue->length = length;
	counters_reset(queue->counters);
	return queue;
}

void queue_free(struct queue *queue)
{
	if (queue->counters)
		free(queue->counters);
	free(queue);
}

void counters_reset(struct counters *counters)
{
	memset(counters, 0, sizeof(*counters));
}
"""
MAIN = """\
#include <stdio.h>
#include "queue.h"

int main(void)
{
	struct queue *queue = queue_make(3);
	struct counters copy;

	if (!queue)
		return 1;
	queue->counters->sent++;
	copy = *queue->counters;
	printf("%lu %lu\\n", queue_sent(queue), copy.sent);
	queue_free(queue);
	return 0;
}
"""


def made(tree: Path, files: dict[str, str]) -> Inlined:
    """What becomes of ``queue.counters`` in a tree of these files."""
    for name, text in files.items():
        (tree / name).write_text(text)
    return inlined(Wanted("queue", "counters", tree), print)


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
    return tree, made(tree, {"queue.h": HEADER, "queue.c": QUEUE, "main.c": MAIN})


def test_the_changed_program_compiles_and_says_the_same(queue: tuple[Path, Inlined], tmp_path: Path) -> None:
    for name, text in applied(*queue).items():
        (tmp_path / name).write_text(text)
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "main.c", "queue.c"], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "a.out"], capture_output=True, text=True, check=True).stdout == "1 1\n"


def test_the_type_is_declared_first_in_a_step_of_its_own(queue: tuple[Path, Inlined]) -> None:
    first = queue[1].series.steps[0]
    assert first.message.startswith("queue: declare struct counters before struct queue\n\n")
    after = first.changes[0].after or b""
    assert after.index(b"/* What is counted. */\nstruct counters {") < after.index(b"struct queue {")
    assert sorted(after.splitlines()) == sorted(HEADER.encode().splitlines())


def test_the_object_stands_last_on_a_line_of_its_own(queue: tuple[Path, Inlined]) -> None:
    assert applied(*queue)["queue.h"].split("struct queue {\n")[1].split("};")[0] == (
        "\tint length;\n"
        "\tstruct queue *next;\n"
        "\t/* What went through. */\n"
        "\tstruct counters counters __attribute__((aligned(64)));\t/* one per queue */\n"
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


def test_who_can_fail_no_longer_is_told(queue: tuple[Path, Inlined]) -> None:
    told = [(one.code, one.place) for one in queue[1].sites]
    assert (RefusalCode.ALWAYS_SUCCEEDS, "queue.c:10") in told


def test_a_pointer_that_is_set_from_elsewhere_gives_no_series(tmp_path: Path) -> None:
    shared = QUEUE.replace(
        "queue->length = length;", "queue->length = length;\n\tqueue->counters = queue->next->counters;"
    )
    result = made(tmp_path, {"queue.h": HEADER, "queue.c": shared, "main.c": MAIN})
    assert not result.series.steps
    assert {(one.code, one.place) for one in result.standing} == {(RefusalCode.SHARED, "queue.c:15")}


def test_another_record_with_a_member_of_that_name_is_left_alone(tmp_path: Path) -> None:
    other = "struct link { struct counters *counters; };\n"
    use = "void link_reset(struct link *link)\n{\n\tcounters_reset(link->counters);\n}\n"
    result = made(tmp_path, {"queue.h": HEADER, "queue.c": f"{QUEUE}\n{other}\n{use}", "main.c": MAIN})
    assert result.study.found.typed
    after = applied(tmp_path, result)["queue.c"]
    assert "counters_reset(link->counters);" in after
    assert "counters_reset(&queue->counters);" in after


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


def test_tests_of_a_pointer_that_is_always_set_go(tmp_path: Path) -> None:
    use = (
        "unsigned long queue_lost(struct queue *queue)\n"
        "{\n"
        "\tif (queue->counters)\n"
        "\t\tcounters_reset(queue->counters);\n"
        "\treturn queue->counters ? queue->counters->lost : 0;\n"
        "}\n"
    )
    files = {"queue.h": HEADER, "queue.c": f"{QUEUE}\n{use}", "main.c": MAIN}
    assert {one.code for one in made(tmp_path, files).standing} == {RefusalCode.NULL_TEST}
    result = inlined(Wanted("queue", "counters", tmp_path, never_null=True), print)
    assert applied(tmp_path, result)["queue.c"].endswith(
        "unsigned long queue_lost(struct queue *queue)\n"
        "{\n"
        "\tcounters_reset(&queue->counters);\n"
        "\treturn queue->counters.lost;\n"
        "}\n"
    )


def test_a_function_that_coccinelle_cannot_parse_stands_in_the_way(tmp_path: Path) -> None:
    odd = "void odd(struct queue *queue)\n{\n\tgoto nowhere;\n\tqueue->counters->lost++;\n}\n"
    result = made(tmp_path, {"queue.h": HEADER, "queue.c": f"{QUEUE}\n{odd}", "main.c": MAIN})
    assert [(one.code, one.place) for one in result.standing] == [(RefusalCode.NOT_PARSED, "queue.c:34")]


def test_an_allocation_may_be_cast(tmp_path: Path) -> None:
    cast = QUEUE.replace("= calloc(", "= (struct counters *)calloc(").replace("= malloc(", "= (struct queue *) malloc(")
    after = applied(tmp_path, made(tmp_path, {"queue.h": HEADER, "queue.c": cast, "main.c": MAIN}))["queue.c"]
    assert "\tmemset(&queue->counters, 0, sizeof(queue->counters));\n" in after
    assert "(struct queue *) aligned_alloc(__alignof__(*queue), sizeof(*queue))" in " ".join(after.split())


def test_an_initialiser_of_the_pointer_stands_in_the_way(tmp_path: Path) -> None:
    first = "static struct counters first_counters;\nstruct queue first = { .counters = &first_counters };\n"
    result = made(tmp_path, {"queue.h": HEADER, "queue.c": f"{QUEUE}\n{first}", "main.c": MAIN})
    assert [(one.code, one.place) for one in result.standing] == [(RefusalCode.INITIALISER, "queue.c:32")]


@pytest.mark.parametrize(
    "text",
    [
        "struct queue first = { 1, NULL, NULL };",
        "static struct queue more[2] = { { 1 }, { .length = 2 } };",
        "typedef struct queue queue_type;\nqueue_type first = { 1 };",
        "void f(struct queue *q) { *q = (struct queue){ 1, NULL, NULL }; }",
        "#define FIRST(n) { n, NULL, NULL }\nstruct queue first = FIRST(1);",
    ],
)
def test_values_by_position_stand_in_the_way(tmp_path: Path, text: str) -> None:
    line = 2 + text.count("\n")
    files = {"queue.h": HEADER, "queue.c": QUEUE, "main.c": MAIN, "first.c": f'#include "queue.h"\n{text}\n'}
    told = [(one.code, one.place) for one in made(tmp_path, files).standing]
    assert told == [(RefusalCode.POSITIONAL, f"first.c:{line}")]


def test_what_relies_on_the_order_is_told(tmp_path: Path) -> None:
    text = '_Static_assert(offsetof(struct queue, next) == 16, "order");\nstruct queue none = { 0 };\n'
    files = {"queue.h": HEADER, "queue.c": f"{QUEUE}\n{text}", "main.c": MAIN}
    result = made(tmp_path, files)
    assert not result.standing
    assert [one.place for one in result.sites if one.code is RefusalCode.OFFSET] == ["queue.c:31"]


@pytest.mark.parametrize(
    "text",
    [
        "struct queue *queue_pool(void) { return pool_get(sizeof(struct queue)); }",
        "struct queue *queue_new(void) { return malloc(sizeof(struct queue)); }",
        "void queue_more(struct queue *all) { all = realloc(all, 2 * sizeof(*all)); }",
        "struct queue *queue_new(void) { return NEW(struct queue); }",
        "struct pair { struct queue first, second; };",
    ],
)
def test_no_alignment_is_promised_that_a_record_may_not_have(tmp_path: Path, text: str) -> None:
    result = made(tmp_path, {"queue.h": HEADER, "queue.c": QUEUE, "main.c": f"{MAIN}\n{text}\n"})
    assert not result.standing
    after = applied(tmp_path, result)
    assert "\tstruct counters counters;\t/* one per queue */\n" in after["queue.h"]
    assert "malloc(sizeof(*queue))" in after["queue.c"]


COPIES = """\
void queue_copies(struct queue *one, struct queue v[2])
{
	struct queue copy = *one;

	v[0] = v[1];
	v[0] = copy;
}

int queue_length(struct queue queue)
{
	return queue.length;
}

struct queue queue_taken(struct queue *one)
{
	return *one;
}
"""


def test_copies_of_the_whole_record_are_told(tmp_path: Path) -> None:
    result = made(
        tmp_path, {"queue.h": HEADER, "queue.c": QUEUE, "main.c": MAIN, "copy.c": f'#include "queue.h"\n{COPIES}'}
    )
    assert not result.standing
    told = [one.place for one in result.sites if one.code is RefusalCode.COPIED_OBJECT]
    assert sorted(told) == ["copy.c:10", "copy.c:15", "copy.c:4", "copy.c:6", "copy.c:7"]


def test_a_copy_whose_object_is_used_stands_in_the_way(tmp_path: Path) -> None:
    used = COPIES.replace("v[0] = copy;", "copy.counters->lost++;")
    result = made(
        tmp_path, {"queue.h": HEADER, "queue.c": QUEUE, "main.c": MAIN, "copy.c": f'#include "queue.h"\n{used}'}
    )
    assert [(one.code, one.place) for one in result.standing] == [(RefusalCode.COPIED_OBJECT, "copy.c:4")]
