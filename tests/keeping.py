# SPDX-License-Identifier: GPL-2.0-or-later
"""Keeps what tests build between runs, by content: a kernel, a recorded profile, an index."""

from __future__ import annotations

import fcntl
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path

# Older contents of one name are removed, so that the folder does not grow with every change of the product.
MOST_OF_ONE_NAME = 3
_PACKAGE = ("analyzer", "tuner", "plugins", "patches")


class Keeper:
    """Folders below ``place``, each filled once for a name and a key, by whichever process is first."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __call__(self, name: str, key: str | bytes, make: Callable[[Path], None]) -> Path:
        """The folder that ``make`` filled for this key, now or in an earlier run; it must not be written to.

        ``key`` holds everything that decides the content. Where ``make`` raises, nothing is kept.
        """
        content = key.encode() if isinstance(key, str) else key
        folder = self.place / f"{name}-{blake2b(content, digest_size=8).hexdigest()}"
        self.place.mkdir(parents=True, exist_ok=True)
        with self._locked(name):
            if not folder.is_dir():
                made = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=self.place))
                try:
                    make(made)
                    made.chmod(0o755)
                    made.rename(folder)
                finally:
                    shutil.rmtree(made, ignore_errors=True)
            # The clock of a file system may stand still for some milliseconds.
            os.utime(folder, ns=(time.time_ns(),) * 2)
            self._remove_old(name)
        return folder

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with (self.place / f".{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _remove_old(self, name: str) -> None:
        same = (one for one in self.place.glob(f"{name}-*") if len(one.name) == len(name) + 17)
        for one in sorted(same, key=lambda one: one.stat().st_mtime_ns, reverse=True)[MOST_OF_ONE_NAME:]:
            shutil.rmtree(one, ignore_errors=True)


@cache
def product_digest(*parts: str) -> str:
    """A digest of the installed product, as part of the key of what it made.

    With ``parts`` only files whose names begin with one of them count (``analyzer/layouts``), and what is compiled.
    """
    digest = blake2b(digest_size=16)
    for name in _PACKAGE:
        for place in importlib.import_module(f"linesmith.{name}").__path__:
            files = (one for one in Path(place).rglob("*") if "native" not in one.relative_to(place).parts[:1])
            for file in sorted(one for one in files if one.suffix != ".pyc" and one.is_file()):
                known_as = f"{name}/{file.relative_to(place)}"
                if not parts or known_as.startswith(parts) or file.suffix == ".so":
                    digest.update(f"{known_as}\0".encode())
                    digest.update(blake2b(file.read_bytes()).digest())
    return digest.hexdigest()
