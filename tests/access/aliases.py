# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of one variable: symbols of one address, as ``jiffies`` and ``jiffies_64`` of a kernel."""

from __future__ import annotations

import subprocess
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path


def aliases(elf: Path) -> Mapping[str, frozenset[str]]:
    """For each symbol all names of its address, by ``nm``; names that several addresses bear are left out."""
    printed = subprocess.run(["nm", str(elf)], capture_output=True, text=True, check=False).stdout
    rows = [(parts[0], parts[2]) for parts in map(str.split, printed.splitlines()) if len(parts) == 3]
    bearers = Counter(name for _, name in rows)
    names: dict[str, set[str]] = defaultdict(set)
    for address, name in rows:
        if bearers[name] == 1:
            names[address].add(name)
    return {name: frozenset(names[address]) for address, name in rows if bearers[name] == 1}
