# SPDX-License-Identifier: GPL-2.0-or-later
"""How the command line refuses a file: one sentence, exit status 2, and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from linesmith_command import linesmith

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.layouts.dwarf import read_layouts


@dataclass(frozen=True)
class Refusal:
    """The class of the error, and its sentence with the file's name as ``FILE``."""

    error: str
    sentence: str


def refusal(file: Path) -> Refusal:
    """What ``linesmith layout FILE`` says; fails unless it ends with status 2 and exactly one sentence."""
    ran = linesmith("layout", file)
    assert (ran.returncode, ran.stdout) == (2, ""), (ran.returncode, ran.stderr)
    prefix, sentence = ran.stderr[:11], ran.stderr[11:].removesuffix("\n")
    assert prefix == "linesmith: "
    assert "\n" not in sentence, "more than one line"
    return Refusal(error_class(file), sentence.replace(str(file), "FILE"))


def error_class(file: Path) -> str:
    """Name of the class that the reader raises, empty when it reads the file; a crash fails the test."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            read_layouts(file)
            os._exit(0)
        except LinesmithError as error:
            os.write(theirs, type(error).__name__.encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours) as said:
        name = said.read()
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    return name
