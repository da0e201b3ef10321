# SPDX-License-Identifier: GPL-2.0-or-later
"""The process around a worker: when the worker or its owner ends, however that may be, it kills what they began.

A worker that is killed with SIGKILL cannot clean up, and neither can its owner: this process does nothing but wait.
The lock on the warm folder is held until the last of the worker's descendants is dead, so that the next worker there
never meets a build of the last one.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from linesmith.plugins.executors.descendants import adopt_orphans, die_with_parent, end_descendants
from linesmith.plugins.executors.local import serve

_SECONDS_TO_DIE = 60.0
_LOOK_SECONDS = 0.05


def keep(warm: Path, calls: int, lifeline: int) -> None:
    """Run a worker with its ``warm`` folder until it ends or our owner does, then end all that is left of it.

    ``calls`` and ``lifeline`` are descriptors: the worker's connection, and a pipe that our owner holds open.
    """
    adopt_orphans()
    if not _locked(warm, lifeline):
        return
    keeper = os.getpid()
    worker = os.fork()
    if worker == 0:
        die_with_parent(keeper)
        os.close(lifeline)
        serve(Connection(calls), warm)
        os._exit(0)
    os.close(calls)
    select.select([os.pidfd_open(worker), lifeline], [], [])
    end_descendants(_SECONDS_TO_DIE)


def _locked(warm: Path, lifeline: int) -> bool:
    """Wait until the warm folder is ours; not when our owner ends first. The lock goes with this process."""
    warm.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(warm / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if select.select([lifeline], [], [], _LOOK_SECONDS)[0]:
                return False


if __name__ == "__main__":
    keep(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
