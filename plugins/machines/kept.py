# SPDX-License-Identifier: GPL-2.0-or-later
"""A command under its keeper, which ends it with everything that it began, even when we are killed."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from linesmith.plugins.machines import keeper

# What the keeper takes to end a command and to tell, beyond the command's own time.
_GRACE_SECONDS = 30


@contextmanager
def kept(job: keeper.Job, order: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The keeper of a job while the block lasts; ``order`` is a file for what it is told."""
    order.write_text(json.dumps(asdict(job)), "utf-8")
    argv = (sys.executable, "-I", "-S", keeper.__file__, str(order))
    # Leaving the block closes the keeper's input, and so ends the command, and waits for that.
    try:
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as process:
            yield process
    finally:
        order.unlink()


def outcome(process: subprocess.Popen[bytes], job: keeper.Job) -> keeper.Outcome | None:
    """How the job ended, when it has; ``None`` when the keeper was killed."""
    stream = process.stdout
    told = stream.read() if stream and select.select([stream], [], [], job.seconds + _GRACE_SECONDS)[0] else b""
    return keeper.Outcome(**json.loads(told)) if told else None
