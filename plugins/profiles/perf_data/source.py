# SPDX-License-Identifier: GPL-2.0-or-later
"""perf.data of ``perf c2c record`` and ``perf mem record``, whichever machine recorded it."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.errors import ProfileError
from linesmith.analyzer.model import Profile

_MAGICS = (b"PERFILE2", b"2ELIFREP")


class PerfData:
    """Reads the samples of a perf.data file; see ``docs/profiles.md``."""

    name = "perf-data"

    def recognises(self, head: bytes) -> bool:
        """Whether ``head`` begins as a perf.data file does, in either byte order."""
        return head.startswith(_MAGICS)

    def read(self, path: Path, source: str) -> tuple[Profile, ...]:
        """The one profile of the file. Raises ``ProfileError`` when it is damaged or has no shared line."""
        # Brings numpy, which commands do without that read no perf.data.
        from linesmith.plugins.profiles.perf_data.reading import read_perf_data

        try:
            return (read_perf_data(path, source),)
        except OSError as error:
            raise ProfileError(f"cannot read the profile {source}: {error.strerror or error}") from error

    def with_names(self, path: Path, profile: Profile) -> Profile:
        """The profile with the functions that perf can name here. Raises ``ProfileError`` or ``ToolMissing``."""
        from linesmith.plugins.profiles.perf_data.names import with_names

        return with_names(path, profile)
