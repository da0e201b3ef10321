# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests that are booted once, kept, and read once for all tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path

import drgn
import pytest
from keeping import Keeper
from snapshots import guest
from snapshots.places import places_of, slab_places

from linesmith.analyzer.base import child
from linesmith.analyzer.model import Snapshot
from linesmith.plugins.machines import guest_files, talk
from linesmith.plugins.registry import snapshot_source
from linesmith.plugins.snapshots.kernel import opened

# Where the kernel lies as linked, and moved about with all debugging aids of the slab allocator.
COMMAND_LINES = {"plain": "nokaslr", "debugging": "slub_debug=FZPU"}


@dataclass(frozen=True)
class Guest:
    """A guest's memory, what drgn sees in it, and what is read of all places at once."""

    memory: Path
    program: drgn.Program
    snapshot: Snapshot


GuestOf = Callable[[str], Guest]


@pytest.fixture(scope="session")
def guest_of(kernel_image: Path, kernel_module: Path, vmlinux: Path, kept: Keeper) -> GuestOf:
    """The guest that was booted with one of the command lines."""
    made_by = [kernel_image, kernel_module, *(Path(one.__file__ or "") for one in (guest, child, guest_files, talk))]
    digest = blake2b(b"".join(blake2b(one.read_bytes()).digest() for one in made_by)).hexdigest()
    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout

    @cache
    def of(name: str) -> Guest:
        words = COMMAND_LINES[name]
        key = f"{digest} {version} {words}"
        folder = kept(f"guest-{name}", key, lambda place: guest.dumped(kernel_image, kernel_module, words, place))
        program = opened(folder / "memory", vmlinux)
        places = list(slab_places(program) if name == "debugging" else places_of(program))
        return Guest(folder / "memory", program, snapshot_source("drgn").read(folder / "memory", vmlinux, places))

    return of


@pytest.fixture(scope="session")
def plain(guest_of: GuestOf) -> Guest:
    """A guest whose kernel lies where it was linked."""
    return guest_of("plain")


@pytest.fixture(scope="session", params=COMMAND_LINES)
def each_guest(request: pytest.FixtureRequest, guest_of: GuestOf) -> Guest:
    return guest_of(request.param)
