# SPDX-License-Identifier: GPL-2.0-or-later
"""A small file that somebody else may have put there: a regular one, opened without following a link."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from linesmith.analyzer.errors import IntentError


def read_regular(path: Path, most: int) -> bytes:
    """The bytes of the regular file at ``path``, ``most`` of them at most; raises ``IntentError``.

    The last part of the path may not be a symbolic link, and nothing is waited for (a FIFO).
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise IntentError(f"{path} is a symbolic link, which is not followed; put the file itself there") from None
        raise IntentError(f"cannot read {path}: {error.strerror}; name a TOML file with intents") from None
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise IntentError(f"{path} is no regular file; name a TOML file with intents")
        content = file.read(most + 1)
    if len(content) > most:
        raise IntentError(f"{path} is larger than {most >> 20} MiB, too large for intents; keep only intents in it")
    return content
