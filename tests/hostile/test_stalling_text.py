# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of a tree that somebody wrote to stall its readers: a command reads it, or refuses it, in time.

A process may take as many seconds as what is linear takes many times over; what goes back over the same bytes again and
again is killed. Compilers and Coccinelle have limits of their own.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from demo.example import PROFILE, example_program
from hostile.limited import limited
from linesmith_command import linesmith
from lint_commits import repository
from patch_cases import layout, write_files
from stalling_shapes import C_SHAPES, JSON_SHAPES, KCONFIG_SHAPES, MAIL_SHAPES, TOML_SHAPES, Shape

from linesmith.analyzer.base.errors import DeclarationNotFound
from linesmith.patches.source.declaration import declaration, included

SOURCES = Path(__file__).with_name("sources")
SIZE, LARGE = 256 << 10, 1 << 20
SMALL = "struct queue {\n\tint a;\n\tint b;\n};\n"
# One for each way in which a reader once went back over what it had read.
TELLING = (
    '\\"', "struct queue a[", "(struct queue){1,2},", '#include "', '#include "a.h"', "struct queue {", "queues",
    "typedef struct { int a; } queue_t;\n", "struct queue q = {1};\n", "typedef ", "a record in 90 records",
    "struct queue { 'int a:1;\\n' }", "struct queue x __a __a", "enum ", "#define A \\\n",
)  # fmt: skip
SHAPES = {name: C_SHAPES.get(name) or C_SHAPES[repr(name)] for name in TELLING}
ONE_BY_ONE = [pytest.param((shape,), LARGE, marks=pytest.mark.study, id=name) for name, shape in C_SHAPES.items()]


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
    texts = (shape.text(SIZE).replace(b"queue", b"session_index") for shape in SHAPES.values())
    (tmp_path / "tree").mkdir()
    for number, text in enumerate(texts):
        (tmp_path / "tree" / f"{number}.h").write_bytes(text)
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


@pytest.mark.parametrize("size", [SIZE, pytest.param(LARGE, marks=pytest.mark.study)])
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
