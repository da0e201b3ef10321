# SPDX-License-Identifier: GPL-2.0-or-later
"""The store of what was built: a folder per key, which appears whole or not at all, and is never changed.

A folder holds ``products/``, ``build.log``, ``build.json`` and, where there is one, ``.config``. Hidden next to them
lie locks, drafts, and the logs of builds that run or have failed. A ``BuildSlot`` is one tree's place in a worker's
warm folder: its copy of the sources and what builds have left there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base import files
from linesmith.analyzer.base.files import locked, locked_if_free, replace_file, sync
from linesmith.analyzer.model import Built
from linesmith.plugins.builders.sources import unfinished
from linesmith.plugins.builders.working_copy import WorkingCopy

_DRAFT = ".draft-"


@dataclass(frozen=True, slots=True)
class Artifacts:
    """The store in ``folder``, which many processes may use at once."""

    folder: Path

    def find(self, key: str, sources: str) -> Built | None:
        """What an earlier build with that key left, unless someone has damaged it since.

        ``sources`` is the digest of the sources, which the key has in it.
        """
        directory = self.folder / key
        try:
            facts = json.loads((directory / "build.json").read_bytes())
            sizes = {name: (directory / "products" / name).stat().st_size for name in facts["products"]}
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if sizes != facts["products"]:
            return None
        built = Built(
            key=key,
            directory=directory,
            products=_products(directory, sizes),
            compiler=facts["compiler"],
            configuration=facts["configuration"],
            commands=tuple(facts["commands"]),
            sources=sources,
        )
        return replace(built, reused=True)

    @contextmanager
    def turn(self, key: str) -> Iterator[Path]:
        """Wait until nobody else builds this key; the value is an empty folder for its parts. Raises ``OSError``."""
        with locked(self._lock(key)):
            for left in self.folder.glob(f"{_DRAFT}*"):  # by builders that were killed
                with locked_if_free(self._lock(left.name.removeprefix(_DRAFT))) as ours:
                    if ours:
                        shutil.rmtree(left, ignore_errors=True)
            draft = self.folder / f"{_DRAFT}{key}"
            shutil.rmtree(draft, ignore_errors=True)
            draft.mkdir()
            self.log(key).parent.mkdir(exist_ok=True)
            self.log(key).unlink(missing_ok=True)
            try:
                yield draft
            finally:
                shutil.rmtree(draft, ignore_errors=True)

    def commit(self, draft: Path, built: Built, products: Mapping[str, Path], configuration: Path | None) -> Built:
        """Copy the products into the draft and make it the artifact. Raises ``OSError``."""
        self.log(built.key).rename(draft / "build.log")
        if configuration:
            shutil.copyfile(configuration, draft / ".config")
        (draft / "products").mkdir()
        for name, origin in products.items():
            shutil.copyfile(origin, draft / "products" / name)
            shutil.copymode(origin, draft / "products" / name)
        sizes = {name: (draft / "products" / name).stat().st_size for name in products}
        facts = {
            "products": sizes,
            "compiler": built.compiler,
            "configuration": built.configuration,
            "commands": built.commands,
            "sources": built.sources,
            "seconds": round(built.seconds, 3),
        }
        files.replace_file(draft / "build.json", json.dumps(facts, indent=1).encode())
        for folder, _, names in os.walk(draft):
            for name in names:
                sync(Path(folder, name))
            sync(Path(folder))
        shutil.rmtree(built.directory, ignore_errors=True)
        draft.rename(built.directory)
        sync(self.folder)
        return replace(built, products=_products(built.directory, sizes))

    def log(self, key: str) -> Path:
        """The log of the build of that key, while it runs and after it failed."""
        return self.folder / ".logs" / f"{key}.log"

    def _lock(self, key: str) -> Path:
        return self.folder / ".locks" / key


def _products(directory: Path, names: Mapping[str, int]) -> tuple[tuple[str, Path], ...]:
    return tuple((name, directory / "products" / name) for name in names)


@dataclass(frozen=True, slots=True)
class BuildSlot:
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
        replace_file(self._unsettled, b"")

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
def occupied(folder: Path, purpose: str) -> Iterator[BuildSlot]:
    """The slot in ``folder``, for us alone; emptied when it was used for another purpose. Raises ``OSError``."""
    with locked(folder.with_name(f"{folder.name}.lock")) as lock:
        mark = folder / "purpose"
        if not mark.is_file() or mark.read_text() != purpose:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            replace_file(mark, purpose.encode())
        slot = BuildSlot(folder, lock)
        slot.settle()
        yield slot
