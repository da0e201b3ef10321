# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a piece of C (or C++) and reads the records of what comes out, with the native core alone."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from linesmith.analyzer import _native
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import Layout, Member

CLANG = next((name for name in ("clang-19", "clang") if shutil.which(name)), "clang-19")


@dataclass(frozen=True)
class Producer:
    """A compiler and the DWARF version it is asked for."""

    compiler: str
    version: int

    def compile(self, source: Path, output: Path, *flags: str) -> Path:
        """Object (or program, by ``flags``) of ``source``; the test is skipped without the compiler."""
        if shutil.which(self.compiler) is None:
            pytest.skip(f"{self.compiler} is not installed")
        command = [self.compiler, f"-gdwarf-{self.version}", "-o", output.name, *flags, source.name]
        subprocess.run(command, cwd=source.parent, check=True)
        return output


PRODUCERS = tuple(Producer(compiler, version) for compiler in ("gcc", CLANG) for version in (4, 5))
NAMES = [f"{producer.compiler}-dwarf{producer.version}" for producer in PRODUCERS]


@dataclass(frozen=True)
class Bench:
    """A directory to compile in, and one producer."""

    directory: Path
    producer: Producer

    def object(self, text: str, *flags: str, suffix: str = ".c") -> Path:
        return self.build(text, "-c", *flags, suffix=suffix)

    def build(self, text: str, *flags: str, suffix: str = ".c", name: str = "unit") -> Path:
        """Whatever ``flags`` make of ``text``."""
        source = self.directory / f"{name}{suffix}"
        source.write_text(text)
        return self.producer.compile(source, self.directory / f"{name}.o", *flags)

    def read(self, text: str, *flags: str, suffix: str = ".c") -> LayoutTable:
        return records(self.object(text, *flags, suffix=suffix))


def records(path: Path, debug_directories: Sequence[str] = ()) -> LayoutTable:
    table = _native.read_dwarf(str(path), 2, debug_directories)
    return LayoutTable(msgspec.json.decode(document, type=Layout) for document in table.all_json())


def only(layouts: LayoutTable, name: str) -> Layout:
    (layout,) = layouts.variants(name)
    return layout


def member(layout: Layout, name: str) -> Member:
    (found,) = (each for each in layout.members if each.name == name)
    return found


def places(layout: Layout) -> list[tuple[str, int, int]]:
    return [(each.name, each.offset, each.size) for each in layout.members]


def line(found: Member) -> str:
    """The two columns of a member's line."""
    return f"{found.type} {found.declarator}".rstrip()
