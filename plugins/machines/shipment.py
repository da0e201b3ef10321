# SPDX-License-Identifier: GPL-2.0-or-later
"""Files that steps need on another computer, and the words of those steps as they are there.

Products of the build and other files that the words name by a path go along, below a folder of ours. Files of the
system do not: the other computer has its own.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.model import Built
from linesmith.plugins.machines.closure import absolute
from linesmith.plugins.machines.guest_files import named_files

_OF_THE_SYSTEM = (
    "/usr/",
    "/bin/",
    "/sbin/",
    "/lib/",
    "/lib64/",
    "/etc/",
    "/proc/",
    "/sys/",
    "/dev/",
    "/run/",
    "/boot/",
)
# Where programs write; naming such a folder does not mean the files of ours that lie there.
_SHARED_FOLDERS = ("/", "/tmp", "/var/tmp", "/root", "/home")  # noqa: S108 - compared with, never written to


@dataclass(frozen=True, slots=True)
class Shipment:
    """Files by their path here; there they lie at the same path below ``root``."""

    files: tuple[Path, ...]
    root: str

    def archive(self, others: Mapping[str, bytes]) -> bytes:
        """All of them as a tar archive, relative to the folder above ``root``; ``others`` are further files by name."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w", dereference=True) as archive:
            for path in self.files:
                archive.add(path, f"{Path(self.root).name}{path}")
            for name, content in others.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(content), 0o755
                archive.addfile(member, io.BytesIO(content))
        return buffer.getvalue()

    def there(self, word: str) -> str:
        """The word with every path of a file that goes along, or of the folder that it lies in, as it is there."""
        folders = {str(path.parent) for path in self.files} - set(_SHARED_FOLDERS)
        # The longest first, so that a folder does not take the beginning of its file.
        places = sorted({*map(str, self.files), *folders}, key=len, reverse=True)
        if not places:
            return word
        pattern = rf"(?<![\w./-])(?:{'|'.join(map(re.escape, places))})(?![\w.-])"
        return re.sub(pattern, lambda found: f"{self.root}{found[0]}", word)


def shipment(commands: Sequence[tuple[str, ...]], built: Built, root: str) -> Shipment:
    """What the commands need of this computer; relative paths in them start from where we are."""
    text = "\0".join(word for command in commands for word in command)
    products = [path.absolute() for _, path in built.products if str(path.absolute()) in text]
    named = (absolute(path) for command in commands for path in named_files(command, Path.cwd()))
    ours = (path for path in named if not str(path).startswith(_OF_THE_SYSTEM))
    return Shipment(tuple(dict.fromkeys((*products, *ours))), root)
