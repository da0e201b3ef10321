# SPDX-License-Identifier: GPL-2.0-or-later
"""When linesmith is killed, and cannot do anything about it, nothing that it began goes on."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

from machines.places import Place, lingering

from linesmith.analyzer.model import Built, Step

# A process of its own, which tells when the step runs, and goes on until it is killed.
RUNNER = """
import pickle, sys
from pathlib import Path
machine, site, built, steps, scratch = pickle.loads(Path(sys.argv[1]).read_bytes())
machine.run(site, built, steps, scratch, lambda said: print(said, flush=True))
"""
# Another worker may run the same test on another machine.
PROGRAM = f"sleep 77002{os.getpid()}"


def test_steps_end_when_we_are_killed(place: Place, tmp_path: Path) -> None:
    steps = (Step(("sh", "-c", f"{PROGRAM} & (setsid {PROGRAM} &); {PROGRAM}")),)
    built = Built("build", tmp_path, place.products)
    (tmp_path / "order").write_bytes(pickle.dumps((place.machine, place.site, built, steps, tmp_path)))
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, tmp_path / "order"], stdout=subprocess.PIPE, text=True
    ) as runner:
        assert runner.stdout
        while "running step 1" not in runner.stdout.readline():
            assert runner.poll() is None
        runner.kill()
    assert lingering(PROGRAM) == []
    assert lingering(str(tmp_path)) == []
