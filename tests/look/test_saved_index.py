# SPDX-License-Identifier: GPL-2.0-or-later
"""Layouts of a build that is not kept: an index in a file of its own."""

from __future__ import annotations

from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from c_source import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from linesmith_command import linesmith

from linesmith.analyzer.base.errors import ElfError
from linesmith.analyzer.layouts.store import NO_STAMP, built, encoded, read_saved

SOURCE = "struct s { int a; long b; struct { char c; }; } s; struct t { struct s s; } t;"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("saved")
    done = linesmith("index", compiled(folder, SOURCE), "-o", folder / "base.index", cache=folder / "cache")
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "base.index"


def test_it_stands_for_the_build_and_does_not_say_where_that_lay(saved: Path, tmp_path: Path) -> None:
    elf, cache = compiled(tmp_path, SOURCE), tmp_path / "cache"
    shown = [linesmith("layout", one, cache=cache).stdout for one in (elf, saved)]
    assert shown[0] == shown[1]
    assert str(saved.parent).encode() not in saved.read_bytes()
    changed = compiled(tmp_path, SOURCE.replace("long b;", "long b; long more;"))
    done = linesmith("lint", "--base", saved, "--head", changed, cache=cache)
    assert done.stdout.endswith("2 records, 2 changed, 0 watched\n")


def test_what_cannot_be_done_is_refused(saved: Path, tmp_path: Path) -> None:
    elf, cache = compiled(tmp_path, SOURCE), tmp_path / "cache"
    before = elf.read_bytes()
    done = linesmith("access", saved, cache=cache)
    assert (done.returncode, "is a saved index, which has layouts only" in done.stderr) == (2, True)
    assert linesmith("index", elf, elf, "-o", tmp_path / "x.index", cache=cache).returncode == 2
    assert not (tmp_path / "x.index").exists()
    assert linesmith("index", elf, "-o", elf, cache=cache).returncode == 2
    assert elf.read_bytes() == before


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 3000), byte=st.integers(0, 255), end=st.integers(0, 3000))
def test_damage_is_refused_or_harmless(saved: Path, tmp_path: Path, at: int, byte: int, end: int) -> None:
    content = bytearray(saved.read_bytes())
    content[17 + at % (len(content) - 17)] = byte
    damaged = tmp_path / "damaged.index"
    damaged.write_bytes(content[: len(content) - end % 2 * (end % len(content))])
    with suppress(ElfError):
        assert set(read_saved(damaged)[1].names()) == {"s", "t"}


def rewritten(saved: Path, target: Path, old: bytes, new: bytes) -> Path:
    """The index with one thing said otherwise in its records, and checksums that agree with that."""
    _, layouts = read_saved(saved)
    parts = [bytes(layouts.body[start:end]) for start, end in pairwise((0, *layouts.head.ends))]
    changed = [part.replace(old, new) for part in parts]
    assert changed != parts
    ends = tuple(accumulate(map(len, changed)))
    forged = built(NO_STAMP, layouts.head.names, ends, layouts.head.digests, b"".join(changed))
    head, _, _ = saved.read_bytes().partition(b"}\n")
    target.write_bytes(b"".join((head, b"}\n", *encoded(forged))))
    return target


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"natural_alignment":8', b'"natural_alignment":0'),
        (b'"natural_alignment":8', b'"natural_alignment":7'),
        (b'"offset":8', b'"offset":-8'),
        (b'"size":8', b'"size":99999999999999999'),
        (b'"id":0', b'"id":5'),
    ],
)
def test_what_no_compiler_says_is_refused(saved: Path, tmp_path: Path, old: bytes, new: bytes) -> None:
    done = linesmith("lint", rewritten(saved, tmp_path / "forged.index", old, new), cache=tmp_path / "cache")
    assert (done.returncode, "is a damaged index: " in done.stderr) == (2, True)
