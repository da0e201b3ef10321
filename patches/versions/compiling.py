# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a file of two versions alike, in a compiler that reaches nothing but the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from linesmith.analyzer.errors import CommandTimedOut, VerificationFailed
from linesmith.analyzer.layouts import LayoutTable
from linesmith.patches.kbuild import for_unit
from linesmith.patches.matrix.environment import Environment
from linesmith.patches.overlay import Overlay
from linesmith.patches.probe import Compiled, Probe, compiled_in
from linesmith.patches.units import probes
from linesmith.patches.versions.counterparts import Counterpart
from linesmith.patches.versions.overlays import Overlays
from linesmith.patches.versions.versions import Versions


@dataclass(frozen=True, slots=True)
class Both:
    """The records of a file and of what it includes, in the first version and in the second.

    ``moved`` tells that the first version has the records in another file, or none of them, so that only what ``file``
    itself declares is new. ``remark`` says why the first version is not known, where it was to be.
    """

    file: str
    before: LayoutTable
    after: LayoutTable
    moved: bool = False
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Compiling:
    """How files of the versions are compiled: in an environment, with the changes as ``laid`` out over its tree.

    ``seconds`` gives how many are left for a compile.
    """

    versions: Versions
    environment: Environment
    laid: Overlays
    seconds: Callable[[], float]

    def before(self, probe: Probe) -> Compiled:
        """What the first version shows; raises ``VerificationFailed``."""
        return self._in(self.laid.before(self.environment.build), probe)

    def after(self, probe: Probe) -> Compiled:
        """What the second version shows; raises ``VerificationFailed``."""
        return self._in(self.laid.after(self.environment.build), probe)

    def _in(self, overlay: Overlay, probe: Probe) -> Compiled:
        return compiled_in(overlay, for_unit(self.environment.build, probe.unit), probe, self.seconds())


def compiled_both(how: Compiling, one: Counterpart) -> Both | str:
    """What a compiler makes of a file as it was and as it is; why it can make nothing of either, if so.

    Raises ``VerificationFailed`` where only the second version cannot be compiled, ``CommandTimedOut`` for a compiler
    that does not end in its time.
    """
    versions = how.versions
    if not one.old:
        return _compiled_after(how, one.new, "")
    complaints: list[VerificationFailed] = []
    reason = ""
    for probe, then in _probes(how, one):
        try:
            before = how.before(probe)
        except CommandTimedOut:
            raise
        except VerificationFailed as failed:
            reason = reason or str(failed)
            continue
        try:
            after = how.after(then)
        except CommandTimedOut:
            raise
        except VerificationFailed as failed:
            complaints.append(failed)
            continue
        return Both(one.new, _own(before), _own(after), one.old != one.new)
    if complaints:
        raise VerificationFailed(f"in {versions.head}, {complaints[0]}; mend that, then its layouts can be judged")
    return _compiled_after(how, one.new, f"in {versions.base}, {reason}")


def _probes(how: Compiling, one: Counterpart) -> Iterator[tuple[Probe, Probe]]:
    """Ways to compile the file, as it was and as it is; one that a record has left may include where it is now."""
    for probe in probes(how.environment.build, one.old, "", None):
        yield probe, replace(probe, file=one.new)
    if one.old != one.new and how.versions.after.get(one.old) is not None:
        yield Probe(one.old, ""), Probe(one.old, "")


def _compiled_after(how: Compiling, file: str, reason: str) -> Both | str:
    """What the second version alone shows; ``reason`` says why the first shows nothing, empty where it has no file."""
    for probe in probes(how.environment.build, file, "", None):
        try:
            after = how.after(probe)
        except CommandTimedOut:
            raise
        except VerificationFailed as failed:
            reason = reason or f"in {how.versions.head}, {failed}"
            continue
        remark = f"{file} was compared with nothing: {reason}" if reason else ""
        return Both(file, LayoutTable(()), _own(after), True, remark)
    return f"{file} was not compiled: {reason}"


def _own(found: Compiled) -> LayoutTable:
    """The records with files as the tree names them."""
    original = found.overlay.original
    return LayoutTable(replace(one, file=original(one.file) if one.file else one.file) for one in found.layouts)
