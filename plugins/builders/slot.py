# SPDX-License-Identifier: GPL-2.0-or-later
"""One tree's place in a worker's warm folder: its copy of the sources and what builds have left there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.durable import replace
from linesmith.plugins.builders.leftovers import unfinished
from linesmith.plugins.builders.locks import locked
from linesmith.plugins.builders.working_copy import WorkingCopy


@dataclass(frozen=True, slots=True)
class Slot:
    """A folder with the copy; ``lock`` is the descriptor that keeps others out, and that a build's processes share."""

    folder: Path
    lock: int

    @property
    def copy(self) -> WorkingCopy:
        """The worker's copy of the sources."""
        return WorkingCopy(self.folder / "source")

    @contextmanager
    def building(self) -> Iterator[None]:
        """A build that writes into the copy; unless the block ends well, what it wrote is not trusted any more."""
        self.trust()
        yield
        self._unsettled.unlink()

    def trust(self) -> None:
        """Say that all that is written until now is whole, since a command has ended well. Raises ``OSError``."""
        replace(self._unsettled, b"")

    def settle(self) -> None:
        """Remove what a build wrote that was stopped: its files may be cut off, and make would take them as done."""
        if not self._unsettled.exists():
            return
        held = self.copy.held()
        doubtful = list(unfinished(self.copy.folder, self._unsettled.stat().st_ctime_ns))
        self.copy.doubt(path for path in doubtful if path in held)
        for path in doubtful:
            if path not in held:
                (self.copy.folder / path).unlink()
        self._unsettled.unlink()

    @property
    def _unsettled(self) -> Path:
        """A file that is there while a build runs, and after one was stopped."""
        return self.folder / "unsettled"


@contextmanager
def occupied(folder: Path, purpose: str) -> Iterator[Slot]:
    """The slot in ``folder``, for us alone; emptied when it was used for another purpose. Raises ``OSError``."""
    with locked(folder.with_name(f"{folder.name}.lock")) as lock:
        mark = folder / "purpose"
        if not mark.is_file() or mark.read_text() != purpose:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            replace(mark, purpose.encode())
        slot = Slot(folder, lock)
        slot.settle()
        yield slot
