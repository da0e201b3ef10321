# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that hold a command line and what it must say on standard error: ``$ command``, then the text.

``python -m cli_errors.transcripts`` in tests/ writes anew what they say; look at the difference then.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cli_errors.workplace import furnish
from linesmith_command import command

EXPECTED = Path(__file__).with_name("expected")
_VARIABLE = re.compile(r"[A-Z_]+=")
_BUILD_ID = re.compile(r"has [0-9a-f]{40};")
# Stands for the folder that the command runs in.
_HERE = "HERE"


def commands() -> list[Path]:
    return sorted(EXPECTED.glob("*.txt"))


def split(transcript: Path) -> tuple[str, str]:
    """The command line and what it must say."""
    first, _, said = transcript.read_text().partition("\n")
    return first.removeprefix("$ "), said


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line (``VARIABLE=value`` may stand before it) in the folder, whose path becomes ``HERE``.

    The build-id of the example program, which each compiler makes another, becomes ``BUILD-ID``.
    """
    words = shlex.split(line.replace(_HERE, str(folder)))
    variables = [word.split("=", 1) for word in words if _VARIABLE.match(word)]
    arguments = [_bytes(word) for word in words[len(variables) + 1 :]]
    done = command(*arguments, cwd=folder, env={**os.environ, **dict(variables)})
    said = _BUILD_ID.sub("has BUILD-ID;", done.stderr.decode("utf-8", "backslashreplace").replace(str(folder), _HERE))
    return subprocess.CompletedProcess(line, done.returncode, done.stdout.decode("utf-8", "replace"), said)


def _bytes(word: str) -> bytes:
    """The word with a byte where it has one in hexadecimal, as in Python."""
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), word.encode())


def write_anew() -> None:
    """Replace what the transcripts say by what is said now."""
    with TemporaryDirectory() as place:
        folder = furnish(Path(place).resolve() / "work")
        for transcript in commands():
            line, _ = split(transcript)
            done = run(line, folder)
            transcript.write_text(f"$ {line}\n{done.stderr}")
            if done.returncode != 2:
                sys.stderr.write(f"{transcript.name}: exit status {done.returncode}\n")


if __name__ == "__main__":
    write_anew()
