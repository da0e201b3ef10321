# SPDX-License-Identifier: GPL-2.0-or-later
"""Text of a tree that somebody wrote to stall its readers: each reads it, or refuses it, in time."""

from __future__ import annotations

from pathlib import Path

import pytest
from patch_cases import layout, write_files
from stalling_readers import READERS, Reader, cpu_seconds
from stalling_shapes import C_SHAPES, Shape

from linesmith.analyzer.cli.settings_file import read_tree
from linesmith.analyzer.errors import ConfigurationError, DeclarationNotFound
from linesmith.patches.declaration import declaration
from linesmith.patches.included import included

# Seconds of CPU for a text of so many bytes; what is linear takes a tenth of them, what is not many times as much.
LIMITS = [(256 << 10, 5), pytest.param(1 << 20, 10, marks=pytest.mark.study)]
# One for each way in which a reader once went back over what it had read.
TELLING = (
    '\\"', "struct queue a[", "(struct queue){1,2},", '#include "', '#include "a.h"', "struct queue {", "queues",
    "typedef struct { int a; } queue_t;\n", "struct queue q = {1};\n", "typedef ", "a record in 90 records",
    "struct queue { 'int a:1;\\n' }", "struct queue x __a __a", "enum ", "#define A \\\n",
)  # fmt: skip


def readers_of_c() -> list[tuple[Reader, Shape]]:
    shapes = [C_SHAPES.get(name) or C_SHAPES[repr(name)] for name in TELLING]
    readers = {reader.__name__: reader for reader in READERS[0][1]}
    chosen = ("_masked", "_records", "_declaration", "_included", "_redeclared", "_declaring", "_places")
    return [(readers[name], shape) for name in chosen for shape in shapes]


@pytest.mark.parametrize(("size", "limit"), LIMITS)
@pytest.mark.parametrize(("reader", "shape"), readers_of_c())
def test_a_text_that_repeats_itself_does_not_stall_a_reader(
    reader: Reader, shape: Shape, size: int, limit: int
) -> None:
    assert cpu_seconds(reader, shape.text(size), limit) is not None


@pytest.mark.parametrize(("size", "limit"), LIMITS)
@pytest.mark.parametrize(("readers", "shapes"), [(some, known) for known, some in READERS[1:]])
def test_other_files_of_a_tree_do_not_stall_their_readers(
    readers: tuple[Reader, ...], shapes: dict[str, Shape], size: int, limit: int
) -> None:
    telling = ("a key of many parts", "names of parts", "a deep list", "a ruler", "'CONFIG_'", "'Subject: [\\n'")
    for reader in readers:
        for name in (one for one in telling if one in shapes):
            assert cpu_seconds(reader, shapes[name].text(size), limit) is not None, name


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
    with pytest.raises(ConfigurationError, match=":2: nested too deep; write it flatter"):
        read_tree(tmp_path / "linesmith.toml")


def test_a_name_that_no_file_can_have_is_included_by_nobody() -> None:
    assert list(included(b'#include "' + b"a" * 5000 + b'"\n#include "b.h"\n')) == [(True, "b.h")]
