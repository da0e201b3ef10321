# SPDX-License-Identifier: GPL-2.0-or-later
"""Which files a compile would read by including them, for systems that cannot confine the compiler itself."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import VerificationFailed
from linesmith.patches.child import Command, run
from linesmith.patches.confinement import SYSTEM, is_confinable

_SECONDS = 60


def check_reads(command: Command, list_to: Path) -> None:
    """Raise ``VerificationFailed`` where the unit of a confined compile includes a file that is out of its reach.

    The preprocessor says what it reads; what it complains of is not passed on, for that may show the file. Nothing is
    checked where the system confines the compiler.
    """
    if command.confinement is None or is_confinable():
        return
    argv = (*_without_output(command.argv), "-M", "-MF", str(list_to))
    if run(replace(command, argv=argv, seconds=_SECONDS)).status:
        raise VerificationFailed("it cannot be preprocessed, and is not compiled on a system without Landlock")
    known = (*map(Path, SYSTEM), *command.confinement.readable, *command.confinement.writable)
    outside = next((file for file in _listed(list_to) if not _within(command.directory / file, known)), None)
    if outside is not None:
        raise VerificationFailed(f"it includes {outside}, which is neither of the tree nor of the compiler")


def _without_output(argv: Sequence[str]) -> tuple[str, ...]:
    """The call without ``-c -o OBJECT``."""
    at = argv.index("-c")
    return (*argv[:at], *argv[at + 3 :])


def _listed(place: Path) -> tuple[str, ...]:
    """The files of a rule for make."""
    text = place.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    return tuple(text.partition(":")[2].replace("\\ ", "\\").split())


def _within(file: Path, known: Sequence[Path]) -> bool:
    """Whether the file as it is written lies in one of the places, and where links lead, too."""
    forms = Path(os.path.normpath(file)), file.resolve()
    places = [form for one in known for form in (one, one.resolve())]
    return all(any(form.is_relative_to(place) for place in places) for form in forms)
