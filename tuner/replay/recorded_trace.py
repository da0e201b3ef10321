# SPDX-License-Identifier: GPL-2.0-or-later
"""Which trace belongs to a recording: it lies where the profile does, and the profile knows its digest."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b, file_digest
from pathlib import Path

from linesmith.analyzer.base.errors import TraceError
from linesmith.analyzer.model import Profile, Recording

_DIGEST_BYTES = 16


def place_of_trace(profile: Path) -> Path:
    """Where the trace of the profile at ``profile`` lies unless the user says otherwise."""
    return profile.with_name(f"{profile.name}.trace")


def digest_of(trace: Path) -> str:
    """What a recording knows its trace by, hexadecimal; raises ``TraceError`` when the file cannot be read."""
    try:
        with trace.open("rb") as file:
            return file_digest(file, lambda: blake2b(digest_size=_DIGEST_BYTES)).hexdigest()
    except OSError as error:
        raise TraceError(f"the trace {trace} cannot be read: {error.strerror or error}; record again") from error


def with_trace(profile: Profile, trace: Path) -> Profile:
    """The profile of a recording that knows ``trace`` as its own, which is whole then.

    Raises ``TraceError`` when the trace cannot be read or is damaged.
    """
    from linesmith.tuner.replay.replayer import add_totals  # the native replayer, which readers do without

    if profile.recording is None:
        return profile
    add_totals(trace)
    return replace(profile, recording=replace(profile.recording, trace=digest_of(trace)))


def trace_of(recording: Recording | None, profile: Path, named: Path | None = None) -> Path | None:
    """The trace of the ``recording`` in the file ``profile``: the one ``named``, or else the one in its place.

    ``None`` where there is none to look for. Raises ``TraceError`` when it is not there, not whole or another's.
    """
    from linesmith.tuner.replay.replayer import open_trace

    recorded = recording.trace if recording else ""
    trace = named or place_of_trace(profile)
    if not recorded or (named and not named.is_file()):
        if named:
            open_trace(named, (), ())
        return named
    if not trace.exists():
        raise TraceError(f"{trace}, the trace of {profile}, does not exist; name it with --trace")
    if digest_of(trace) != recorded:
        raise TraceError(
            f"{trace} is not the trace of {profile}: it belongs to another recording, or is damaged; name the right"
            " one with --trace, or record again"
        )
    return trace
