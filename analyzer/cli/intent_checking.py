# SPDX-License-Identifier: GPL-2.0-or-later
"""The way from an intent file and a build to what is wrong with either."""

from __future__ import annotations

from pathlib import Path

from linesmith.analyzer.cli.kernels import Running
from linesmith.analyzer.cli.linting import root_of, side
from linesmith.analyzer.cli.loading import load
from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent import FILE_NAME, read_intent, read_symbols
from linesmith.analyzer.intent.kernel_config import configuration_of
from linesmith.analyzer.lint.intent_check import checked
from linesmith.analyzer.lint.places import located
from linesmith.analyzer.model import Intent, LintReport


def check(elf: Path, tree: Path | None, file: Path | None, kconfig: Path | None, running: Running) -> LintReport:
    """The intents in ``file``, else in the tree, else in the tree around us, held against ``elf``.

    Raises ``IntentError`` where there are none, and what reading the files raises.
    """
    root = tree or root_of(Path.cwd())
    intent = read_intent(file_of(root, file))
    report = checked(intent, str(elf), side(running, load(elf)), build_configuration(intent, elf, kconfig))
    return located(report, root)


def file_of(root: Path, file: Path | None) -> Path:
    """The ``file`` with intents, else that of the tree at ``root``; raises ``IntentError`` where there is none."""
    path = file or root / FILE_NAME
    if not path.exists() and not path.is_symlink():
        raise IntentError(f"there is no {path}; name the folder that has it with --tree, or write one with --from")
    return path


def build_configuration(intent: Intent, elf: Path, kconfig: Path | None) -> frozenset[str] | None:
    """The symbols that are set, where any intent asks: as told, or as the kernel in ``elf`` says itself."""
    if kconfig is not None:
        return read_symbols(kconfig)
    return configuration_of(elf) if any(one.configuration for one in intent.types) else None
