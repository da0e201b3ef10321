# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles what declares a record, before and after a change, alone or through a unit that includes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from linesmith.analyzer.errors import VerificationFailed
from linesmith.analyzer.layouts import Layouts
from linesmith.patches.kbuild import Build, for_unit
from linesmith.patches.matrix.asked import Change
from linesmith.patches.matrix.sizes import Tables
from linesmith.patches.overlay import Contents
from linesmith.patches.probe import Probe, compiled_with


def tables(build: Build, change: Change, probes: Sequence[Probe]) -> Tables:
    """What the first of ``probes`` that compiles gives, before and after.

    Raises ``VerificationFailed`` with what the compiler says of the first probe, or of the change.
    """
    probe, before = _first(build, change.before, probes)
    try:
        return Tables(before, _layouts(build, probe, change.after))
    except VerificationFailed as failed:
        raise VerificationFailed(f"as patched, {failed}") from None


def _first(build: Build, contents: Contents, tried: Sequence[Probe]) -> tuple[Probe, Layouts]:
    failures: list[str] = []
    for probe in tried:
        try:
            return probe, _layouts(build, probe, contents)
        except VerificationFailed as failure:
            failures.append(str(failure))
    raise VerificationFailed(f"before any change, {failures[0]}")


def _layouts(build: Build, probe: Probe, contents: Mapping[str, bytes | None]) -> Layouts:
    return compiled_with(for_unit(build, probe.unit), probe, contents).layouts
