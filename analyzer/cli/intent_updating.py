# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from an intent file and a build to the file as it would have to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.cli.intent_checking import build_configuration, file_of
from linesmith.analyzer.cli.kernels import Running
from linesmith.analyzer.cli.linting import root_of, side
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.intent import read_intent
from linesmith.analyzer.intent.rewriting import Rewrite, rewritten
from linesmith.analyzer.lint.intent_update import stale
from linesmith.analyzer.model import Intent
from linesmith.patches.unified import unified_diff


@dataclass(frozen=True, slots=True)
class Updated:
    """The whole text as it would be, the ``diff`` that leads there, and sentences on what is left ``by_hand``."""

    text: str
    diff: str
    by_hand: tuple[str, ...]


def updated(elf: Path, tree: Path | None, file: Path | None, kconfig: Path | None, running: Running) -> Updated:
    """The intents in ``file``, else in the tree, else in the tree around us, as ``elf`` would have them.

    Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    path = file_of(tree or root_of(Path.cwd()), file)
    intent = read_intent(path)
    wanted = stale(intent, side(running, load(elf)), build_configuration(intent, elf, kconfig))
    before = path.read_bytes().decode()
    found = rewritten(before, wanted, str(path))
    diff = unified_diff(before.encode(), found.text.encode(), path.name).decode()
    return Updated(found.text, diff, tuple(_by_hand(intent, one) for one in found.left))


def _by_hand(intent: Intent, one: Rewrite) -> str:
    """What a user has to write, and where."""
    entry = next((part for part in one.path if isinstance(part, int)), 0)
    value = one.value if isinstance(one.value, int) else ", ".join(one.value)
    record = intent.types[entry]
    keys = ".".join(str(part) for part in one.path[2:] if isinstance(part, str))
    return f"{record.place}: {keys} of {record.record} stays as it is, for more than it would change; make it {value}"
