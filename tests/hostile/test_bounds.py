# SPDX-License-Identifier: GPL-2.0-or-later
"""No spelling hides a change from the lint, and what is left out for its size or depth is named."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from demo.example import PROFILE, example_program
from linesmith_command import limited, linesmith
from lint_commits import repository
from patch_cases import layout, write_files
from stalling_shapes import C_SHAPES, JSON_SHAPES, KCONFIG_SHAPES, MAIL_SHAPES, TOML_SHAPES, Shape

from linesmith.analyzer.base.errors import DeclarationNotFound, PatchRefused
from linesmith.patches.revisions.mails import mails_of
from linesmith.patches.scan.text_scan import TOO_LARGE, text_places
from linesmith.patches.source.declaration import declaration, included
from linesmith.patches.treewide.survey import unread_files

MOST_RECORDS = 30
LARGE = b"struct queue q = { 1 };\nstruct r000 r = { 1, 2 };\n" + b" " * (8 << 20)


def test_initialisers_that_were_not_looked_for_are_named(tmp_path: Path) -> None:
    sides = [
        "".join(f"struct r{number:03} {{\n\tlong {first};\n\tlong {last};\n}};\n" for number in range(MOST_RECORDS + 2))
        for first, last in (("a", "b"), ("b", "a"))
    ]
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": sides[0], "large.c": LARGE})
    head = made.commit({"a.h": sides[1], "large.c": LARGE}, base)
    words = ("lint", "--tree", made.root, "--base-ref", base, "--head-ref", head, "--format", "json")
    remarks = json.loads(linesmith(*words, cache=tmp_path / "cache").stdout)["remarks"]
    left = "2 more records whose members are in another order"
    assert [one for one in remarks if one.startswith(f"initialisers by position were not looked for of {left}")]
    assert f"initialisers by position were not looked for in large.c: {TOO_LARGE}" in remarks


def test_a_file_too_large_to_search_is_among_those_that_failed(tmp_path: Path) -> None:
    (tmp_path / "large.c").write_bytes(LARGE)
    for _ in range(2):  # the second answer is that of the cache
        found = text_places(tmp_path, ("queue", "pool"), print)
        assert found["queue"]["large.c"].unread
        assert not found["pool"]  # which it does not name


def test_a_file_that_a_series_for_a_tree_leaves_out_is_named(tmp_path: Path) -> None:
    with (tmp_path / "giant.c").open("wb") as file:
        file.truncate(33 << 20)
    (found,) = unread_files(tmp_path)
    assert (found.place, found.reason) == ("giant.c:1", "this file is larger than 32 MiB and was not read")


def _mail(parts: str, boundary: str) -> str:
    return f'Content-Type: multipart/mixed; boundary="{boundary}"\n\n--{boundary}\n{parts}\n--{boundary}--\n'


@pytest.mark.parametrize("deep", [True, False])
def test_a_mail_with_more_parts_than_people_send_is_refused(deep: bool) -> None:
    text = "Content-Type: text/plain\n\n--- a/a.h\n+++ b/a.h\n"
    if deep:
        for level in range(10):
            text = _mail(text, f"b{level}")
    else:
        text = _mail("\n--b\n".join([text] * 1001), "b")
    with pytest.raises(PatchRefused, match="parts"):
        mails_of("a.patch", f"Subject: x\n{text}".encode())


def test_records_deeper_than_people_write_count_as_changed(tmp_path: Path) -> None:
    deep = "struct top { " + "struct { " * 70 + "long a; " + "} m; " * 70 + "};\n"
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": deep})
    head = made.commit({"a.h": deep.replace("long a", "long int a")}, base)
    assert " 1 changed" in made.lint(base, head).stdout


BODY = "\tlong root;\n\tlong uses;\n"
MORE = f"{BODY}\tlong more[9];\n"
PLAIN = f"struct cache {{\n{BODY}}};\n"
LONG = "x" * 2000
DEEP = "(" * 9 + "64" + ")" * 9
# How a record of 88 bytes is written that was one of 16; each was once taken for none.
HIDDEN = {
    "a bracket in a dead arm": f"struct cache {{\n#if 0\n\t)\n#endif\n{MORE}}};\n",
    "a brace in a dead arm": f"struct cache {{\n#if 0\n\t{{\n#endif\n{MORE}}};\n",
    "brackets deeper than people write": f"struct cache {{\n#if 0\n{'(' * 101}{')' * 101}\n#endif\n{MORE}}};\n",
    "a long attribute before the name": f"struct __attribute__((aligned(8) /* {LONG} */)) cache {{\n{MORE}}};\n",
    "a deep attribute before the name": f"struct __attribute__((aligned({DEEP}))) cache {{\n{MORE}}};\n",
    "a long attribute behind the body": f"struct cache {{\n{BODY}}} /* {LONG} */ __attribute__((aligned(64)));\n",
    "a semicolon in a comment": f"struct /* ; */ cache {{\n{MORE}}};\n",
    "a semicolon behind the body": f"struct cache {{\n{BODY}}} /* ; */ __attribute__((aligned(64)));\n",
    "a keyword on two lines": f"str\\\nuct cache {{\n{MORE}}};\n",
    "digraphs": f"struct cache <%\n{MORE}%>;\n",
}


# Each in a header of its own, under a name of its own.
BEFORE = {f"{number}.h": PLAIN.replace("cache", f"cache{number}") for number in range(len(HIDDEN))}
AFTER = {f"{n}.h": text.replace("cache", f"cache{n}") for n, text in enumerate(HIDDEN.values())}
MOVED = dict.fromkeys(BEFORE, "\n") | {f"new{name}": text for name, text in AFTER.items()}


@pytest.mark.parametrize("after", [AFTER, MOVED], ids=("changed", "changed and in another file"))
def test_no_spelling_hides_a_record_from_the_lint(tmp_path: Path, after: dict[str, str]) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit(BEFORE)
    document = json.loads(made.lint(base, made.commit(after, base), "--format", "json").stdout)
    assert document["changed"] == len(HIDDEN), document


def test_no_spelling_hides_a_record_of_a_patch(tmp_path: Path) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit(BEFORE)
    head = made.commit(AFTER, base)
    for name, text in BEFORE.items():
        (made.root / name).write_text(text)
    (tmp_path / "p.patch").write_text(made.git("diff", base, head) + "\n")
    done = linesmith("diff", "--patch", tmp_path / "p.patch", "--tree", made.root)
    assert done.returncode == 1, done.stdout + done.stderr
    incomplete = "some records were not found; review the file by hand"
    told = done.stdout.splitlines()
    missing = [
        name
        for number, name in enumerate(BEFORE)
        if not any(f"cache{number} grows from 16 to" in one or (name in one and incomplete in one) for one in told)
    ]
    assert missing == []


LONG_NAME = "t" * 1200


@pytest.mark.parametrize(
    "text",
    [
        f"enum /* {LONG} */ {{ COUNT = %d }};\nstruct cache {{\n{BODY}\tlong rest[COUNT];\n}};\n",
        f"typedef long {LONG_NAME}[%d];\nstruct cache {{\n{BODY}\t{LONG_NAME} rest;\n}};\n",
    ],
)
def test_what_a_header_defines_is_compared_whatever_its_length(tmp_path: Path, text: str) -> None:
    made = repository(tmp_path / "tree")
    base = made.commit({"a.h": text % 1})
    assert json.loads(made.lint(base, made.commit({"a.h": text % 9}, base), "--format", "json").stdout)["changed"] == 1


# Text that somebody wrote to stall its readers: what goes back over the same bytes again and again is killed


SOURCES = Path(__file__).with_name("sources")
SIZE, MOST_BYTES = 256 << 10, 1 << 20
SMALL = "struct queue {\n\tint a;\n\tint b;\n};\n"
# One for each way in which a reader once went back over what it had read.
TELLING = (
    '\\"', "struct queue a[", "(struct queue){1,2},", '#include "', '#include "a.h"', "struct queue {", "queues",
    "typedef struct { int a; } queue_t;\n", "struct queue q = {1};\n", "typedef ", "a record in 90 records",
    "struct queue { 'int a:1;\\n' }", "struct queue x __a __a", "enum ", "#define A \\\n",
)  # fmt: skip
SHAPES = {name: C_SHAPES.get(name) or C_SHAPES[repr(name)] for name in TELLING}
ONE_BY_ONE = [pytest.param((shape,), MOST_BYTES, marks=pytest.mark.study, id=name) for name, shape in C_SHAPES.items()]


@pytest.mark.parametrize(("shapes", "size"), [pytest.param((*SHAPES.values(),), SIZE, id="all"), *ONE_BY_ONE])
def test_a_text_that_repeats_itself_does_not_stall_a_reader(
    tmp_path: Path, shapes: tuple[Shape, ...], size: int
) -> None:
    """It declares a record that it did not declare before, does so no more, and comes new into the tree."""
    made = repository(tmp_path / "tree")
    before: dict[str, str | bytes | tuple[str, bytes]] = {}
    after: dict[str, str | bytes | tuple[str, bytes]] = {}
    for number, shape in enumerate(shapes):
        text = shape.text(size)
        before |= {f"{number}/a.h": SMALL, f"{number}/b.h": text, f"{number}/c.h": SMALL}
        after |= {f"{number}/a.h": text, f"{number}/b.h": SMALL, f"{number}/c.h": text, f"{number}/d.h": text}
    base = made.commit(before)
    words = ("--base-ref", base, "--head-ref", made.commit(after, base), "--type", "queue")
    done = limited("lint", "--tree", made.root, *words, cache=tmp_path / "cache")
    assert done.returncode in (0, 1, 2), done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example_program(tmp_path_factory.mktemp("example") / "bench")


def test_it_does_not_stall_the_search_for_a_declaration(bench: Path, tmp_path: Path) -> None:
    texts = [shape.text(SIZE).replace(b"queue", b"session_index") for shape in SHAPES.values()]
    (tmp_path / "tree").mkdir()
    # Without the files of the ELF's records the tree would be refused before the search.
    names = (
        "guard.h",
        "session_index.h",
        "session_index.c",
        "bench.c",
        *(f"{number}.h" for number in range(len(texts))),
    )
    for name, text in zip(names, texts, strict=False):
        (tmp_path / "tree" / name).write_bytes(text)
    done = limited("patch", bench, bench.with_name(PROFILE), "--tree", tmp_path / "tree", cache=tmp_path / "cache")
    assert done.returncode == 2, done.stderr
    assert "session_index" in done.stderr


# Files that the lint reads beside sources: where each is, and what stalled the one that reads it.
OTHER_FILES = [
    ("linesmith.toml", TOML_SHAPES["a key of many parts"]),
    ("compile_commands.json", JSON_SHAPES["a deep list"]),
    ("baseline.json", JSON_SHAPES["a deep list"]),
    (".config", KCONFIG_SHAPES["'CONFIG_'"]),
    ("change.patch", MAIL_SHAPES["names of parts"]),
    ("change.patch", MAIL_SHAPES[repr("Subject: [\n")]),
]


@pytest.mark.parametrize("size", [SIZE, pytest.param(MOST_BYTES, marks=pytest.mark.study)])
@pytest.mark.parametrize(("name", "shape"), OTHER_FILES)
def test_other_files_of_a_tree_do_not_stall_their_readers(tmp_path: Path, name: str, shape: Shape, size: int) -> None:
    made = repository(tmp_path / "tree")
    text = shape.text(size)
    base = made.commit({"queue.h": SMALL, name: text})
    head = made.commit({"queue.h": SMALL.replace("int b;", "long b;"), name: text}, base)
    made.git("reset", "-q", "--hard", head)
    words: list[str | Path] = ["--base-ref", base, "--head-ref", head]
    if name == "change.patch":
        words = ["--patch", made.root / name]
    elif name in ("baseline.json", ".config"):
        words += ["--baseline" if name == "baseline.json" else "--kconfig", made.root / name]
    done = limited("lint", "--tree", made.root, *words, cache=tmp_path / "cache")
    assert done.returncode in (0, 1, 2), done.stderr


# Texts for what encapsulate and inline read themselves: mentions, other names, functions about a member, comments.
TREEWIDE = {
    ("encapsulate", "queue.a", "--accessor", "a_of_queue"): (
        "queue\n", "#define a queue->b\n", "queue(\n", "typedef struct queue {", "typedef struct queue ",
        "static inline int ", "static inline bool f(struct queue *q) {", "static inline int f(struct queue * ",
    ),
    ("inline", "queue.b"): ("/* q->b */\n", "// q->b\n"),
}  # fmt: skip
OBJECT = "struct b { int taken; };\nstruct queue {\n\tint a;\n\tstruct b *b;\n};\n"
USER = (SOURCES / "queue.c").read_text()


@pytest.mark.skipif(shutil.which("spatch") is None, reason="needs spatch of the package coccinelle")
@pytest.mark.parametrize(
    ("words", "texts", "size"),
    [
        *((words, texts, SIZE // 4) for words, texts in TREEWIDE.items()),
        *(
            pytest.param(words, (text,), SIZE, marks=pytest.mark.study)
            for words, texts in TREEWIDE.items()
            for text in texts
        ),
    ],
)
def test_a_text_that_repeats_itself_stalls_no_reader_of_a_whole_tree(
    tmp_path: Path, words: tuple[str, ...], texts: tuple[str, ...], size: int
) -> None:
    """Neither compilers nor Coccinelle look at what ``#if 0`` leaves out; the commands themselves do."""
    left_out = "".join(f"#if 0\n{text * (size // len(text))}\n#endif\n" for text in texts)
    tree = write_files(tmp_path / "tree", {"queue.h": OBJECT + left_out, "a.c": USER + left_out})
    unit = {"directory": str(tree), "file": "a.c", "command": "gcc -c a.c"}
    write_files(tree, {"compile_commands.json": json.dumps([unit])})
    done = limited(*words, "--tree", tree, "--on", "tree", cache=tmp_path / "cache")
    assert done.returncode == 0, done.stderr


def test_a_record_with_a_body_longer_than_64_kib_is_not_looked_at_and_said(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/s.h": "struct s {\n\tint a;\n" + "\n" * (1 << 16) + "};\n"})
    with pytest.raises(DeclarationNotFound, match=r"include/s\.h:1 is not looked at, its body is longer than 64 KiB"):
        declaration(tree, "s", layout("s", [("a", 0, 4)], 4))


def test_a_record_declared_more_than_64_times_is_said(tmp_path: Path) -> None:
    tree = write_files(tmp_path, {"include/s.h": "struct s { int b; };\n" * 65})
    with pytest.raises(DeclarationNotFound, match=r"include/s\.h declares s 65 times, more than the 64"):
        declaration(tree, "s", layout("s", [("a", 0, 4)], 4))


def test_a_configuration_with_a_key_of_many_parts_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "linesmith.toml").write_text("\n" + "a." * 20_000 + "a = 1\n")
    done = linesmith("config", cwd=tmp_path)
    assert (done.returncode, ":2: nested more than 8 deep; use fewer levels" in done.stderr) == (2, True)


def test_a_name_that_no_file_can_have_is_included_by_nobody() -> None:
    assert list(included(b'#include "' + b"a" * 5000 + b'"\n#include "b.h"\n')) == [(True, "b.h")]
