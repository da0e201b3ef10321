# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs that run under qemu-user with the plugin, and what it wrote of them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from linesmith.plugins.machines.user import plugin_file
from linesmith.plugins.recording.text import AccessRow, PairRow, RecordingText, read_recording

SOURCES = Path(__file__).with_name("sources")
PRELUDE = (SOURCES / "prelude.c").read_text()


def compiled(directory: Path, source: str) -> Path:
    """A static program, so that all it does is its own doing."""
    program = directory / "program"
    text = program.with_suffix(".c")
    text.write_text(PRELUDE + source)
    subprocess.run(["gcc", "-O1", "-static", "-pthread", "-o", program, text], check=True, timeout=300)
    return program


def emulated(
    program: Path, options: Sequence[str] = (), qemu: str = "qemu-x86_64", words: Sequence[str] = ()
) -> subprocess.CompletedProcess[str]:
    """Run a program under the plugin, which writes ``recording`` beside it unless the options say otherwise."""
    argument = ",".join((str(plugin_file()), f"out={program.with_name('recording')}", *options))
    argv = [qemu, "-plugin", argument, str(program), *words]
    return subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)


def recording_of(program: Path) -> RecordingText:
    return read_recording(program.with_name("recording"))


def recorded(directory: Path, source: str) -> tuple[RecordingText, tuple[int, ...]]:
    """Compile and run a program; the recording, and the addresses that the program printed."""
    program = compiled(directory, source)
    done = emulated(program)
    assert done.returncode == 0, done.stderr
    return recording_of(program), tuple(int(word, 16) for word in done.stdout.split())


def accesses_at(recording: RecordingText, address: int) -> Iterator[AccessRow]:
    return (row for row in recording.accesses if row.line + row.offset == address)


def worst_pair(recording: RecordingText, victim: int, writer: int) -> PairRow:
    """The most misses at one address that stores to another caused."""
    rows = (
        row for row in recording.pairs if row.line + row.offset == victim and row.line + row.writer_offset == writer
    )
    return max(rows, key=lambda row: row.local + row.remote)


def lines_of(recording: RecordingText) -> set[int]:
    """The lines where CPUs met."""
    return {row.address for row in recording.lines}


def address_of(program: Path, function: str) -> str:
    """The hexadecimal address of a function of a program that is not position-independent."""
    listing = subprocess.run(["nm", str(program)], capture_output=True, text=True, check=True).stdout
    return next(line.split()[0] for line in listing.splitlines() if line.split()[-1] == function)
