# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel's configuration: a fragment laid over a base, and what became of its options. See Kconfig's language."""

from __future__ import annotations

import re
from collections.abc import Mapping

_SET = re.compile(r"^CONFIG_(\w+)=(.*)$")
_UNSET = re.compile(r"^# CONFIG_(\w+) is not set$")


def options(text: str) -> Mapping[str, str]:
    """The value of every option that the text sets, as written; ``n`` for those that it switches off."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.match(line.strip()):
            found[match[1]] = match[2].strip()
        elif match := _UNSET.match(line.strip()):
            found[match[1]] = "n"
    return found


def merged(base: str, fragment: str) -> str:
    """The base with the fragment's options in place of its own."""
    wanted = options(fragment)
    kept = [line for line in base.splitlines() if not options(line).keys() & wanted.keys()]
    return "\n".join((*kept, *(_line(name, value) for name, value in wanted.items()), ""))


def lost(fragment: str, result: str) -> tuple[str, ...]:
    """The options of the fragment that the resulting configuration has otherwise, a few words for each."""
    given = options(result)
    pairs = ((name, value, given.get(name, "n")) for name, value in options(fragment).items())
    return tuple(f"CONFIG_{name} is {now}, not {value}" for name, value, now in pairs if now != value)


def salted(config: str, salt: int) -> str:
    """The configuration with another build salt; none for salt 0, which leaves what it says."""
    return merged(config, f'CONFIG_BUILD_SALT="linesmith-{salt}"') if salt else config


def architecture(config: str) -> str | None:
    """The architecture that the first lines of a ``.config`` name (``x86``), if they do."""
    match = re.search(r"^# Linux/(\w+) .*Kernel Configuration$", config[:400], re.MULTILINE)
    return match[1] if match else None


def _line(name: str, value: str) -> str:
    return f"# CONFIG_{name} is not set" if value == "n" else f"CONFIG_{name}={value}"
