# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest that hung while it booted gets one more boot: an emulated boot may stop, whatever the kernel."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from linesmith.analyzer.errors import GuestHung, GuestNotBooted
from linesmith.analyzer.model import Session, Site
from linesmith.plugins.api import Tell

Attempt = Callable[[Site], Session]


def booted_at_last(attempt: Attempt, site: Site, log: Path, tell: Tell) -> Session:
    """What ``attempt`` makes of the site; once more, in the seconds that are left, after a boot that ran out of time.

    The console of the boot that hung stays beside ``log``, and the session's facts tell that there was one. Whatever
    else a boot ends by is raised at once; after a second boot that hangs, ``GuestNotBooted``.
    """
    began = time.monotonic()
    try:
        return attempt(site)
    except GuestNotBooted as error:
        left = int(site.seconds - (time.monotonic() - began))
        if not isinstance(error.__cause__, GuestHung) or left < 1:
            raise
    tell(f"the guest hung while booting, and is booted once more; what it said is in {_kept(log)}")
    try:
        session = attempt(replace(site, seconds=left))
    except GuestNotBooted as error:
        if isinstance(error.__cause__, GuestHung):
            raise GuestNotBooted(f"{error}; it was booted twice") from error.__cause__
        raise
    return replace(session, facts=(*session.facts, ("boots", "2, as the first hung")))


def _kept(log: Path) -> Path:
    """Where the console of the boot that hung is from now on; there is none where QEMU never came to open it."""
    kept = log.with_name(f"{log.name}.hung")
    if log.exists():
        log.replace(kept)
    return kept
