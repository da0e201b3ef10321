# SPDX-License-Identifier: GPL-2.0-or-later
"""What the command line gives to the lint: builds, the records of interest, the rules that are on, intents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli.kernels import Running, kernel_of
from linesmith.analyzer.cli.loading import load, load_accesses
from linesmith.analyzer.dwarf import Reading
from linesmith.analyzer.intent import applies, intent_of_tree, read_intent, read_symbols, undecided
from linesmith.analyzer.intent.kernel_config import configuration_of
from linesmith.analyzer.layouts import Layouts
from linesmith.analyzer.lint import Linted, Policy, lint, of_one, of_two, tuned
from linesmith.analyzer.lint.places import located
from linesmith.analyzer.lint.rule_choice import chosen_rules
from linesmith.analyzer.model import Intent, Layout, LintChoice, LintReport
from linesmith.analyzer.rules import Rule, Side
from linesmith.analyzer.slab import has_slabs

if TYPE_CHECKING:
    from collections.abc import Callable

    from linesmith.analyzer.access import AccessMap
    from linesmith.analyzer.cli.lint_options import Judging

_PATTERN = "*?["
# Raw BTF does not say for which machine it is.
_ANY_MACHINE = "any"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of which records: the tree, intents, the symbols of the configuration, rules, types asked for."""

    tree: Path
    intent: Intent
    configuration: frozenset[str] | None
    rules: tuple[Rule, ...]
    types: tuple[str, ...]

    @property
    def records(self) -> frozenset[str]:
        """Names of records to look at even where they did not change."""
        said = (*(one.record for one in self.intent.types), *(one.record for one in self.intent.suppressions))
        return frozenset(name for name in said if not any(sign in name for sign in _PATTERN))


def wanted(tree: Path | None, kconfig: Path | None, judging: Judging, types: tuple[str, ...]) -> Wanted:
    """Read from the tree, or from where the command line says.

    Raises ``IntentError`` or ``RuleUnknown``.
    """
    root = tree or root_of(Path.cwd())
    intent = intent_of_tree(root) if judging.intent is None else read_intent(judging.intent)
    choices = (intent.lint, LintChoice(judging.select, judging.ignore))
    symbols = read_symbols(kconfig) if kconfig else None
    return Wanted(root, intent, symbols, chosen_rules(choices), types)


def configured(wanted: Wanted, elf: Path) -> Wanted:
    """The same with the configuration that the kernel in ``elf`` carries, where an intent asks and nobody told it."""
    if wanted.configuration is not None or not any(one.configuration for one in wanted.intent.types):
        return wanted
    return replace(wanted, configuration=configuration_of(elf))


def builds(alone: Sequence[Path], base: Path | None, head: Path | None) -> tuple[Path | None, Path]:
    """The build before (``None``: there is none) and the one that is looked at.

    Raises ``click.UsageError`` where it is neither one build nor two.
    """
    if len(alone) == 1 and base is None and head is None:
        return None, alone[0]
    if not alone and base is not None and head is not None:
        return base, head
    raise click.UsageError(_what_to_give(alone, base, head))


def _what_to_give(alone: Sequence[Path], base: Path | None, head: Path | None) -> str:
    given = [*([base] if base else []), *alone, *([head] if head else [])]
    if len(given) == 2:
        return f"two builds are compared as options; give --base {given[0]} --head {given[1]}"
    if not alone and base is not None:
        return f"--base {base} is what was before, but nothing is compared with it; add --head NEW"
    if not alone and head is not None:
        return f"--head {head} is compared with what was before; add --base OLD, or give it alone as ELF"
    return "give one build, ELF, or two of them as --base OLD and --head NEW"


def linted(files: tuple[Path | None, Path], wanted: Wanted, side: Callable[[Reading], Side]) -> Linted:
    """The records of the builds, side by side; raises ``TypeNotFound`` for what neither of them has."""
    base, head = files
    after = load(head)
    new = side(after)
    if base is None:
        found = of_one(after.layouts, wanted.types)
        return Linted(str(head), new, found.pairs, compared=found.compared, remarks=tuple(_unseen(after)))
    before = load(base)
    found = of_two(before.layouts, after.layouts, wanted.types, wanted.records)
    remarks = (*dict.fromkeys((*_unseen(before), *_unseen(after))), *_unlike(before, after))
    counts = found.compared, found.changed
    return Linted(str(head), new, found.pairs, str(base), side(before), *counts, remarks=remarks)


def _unseen(reading: Reading) -> Iterator[str]:
    if reading.reader == "BTF":
        yield "BTF states no alignments and no places, so no alignment that was lost is told; give builds with DWARF"


def _unlike(base: Reading, head: Reading) -> Iterator[str]:
    old, new = base.identity, head.identity
    known = _ANY_MACHINE not in (old.machine, new.machine)
    if (known and old.machine != new.machine) or old.little_endian != new.little_endian:
        machines = f"{old.machine} and {new.machine}"
        yield f"the builds are for {machines}, so much differs that no change made; build both alike"


def judged(linted: Linted, wanted: Wanted) -> LintReport:
    """Every violation, its file named as the tree has it."""
    policy = Policy(wanted.rules, _tuned(wanted), wanted.intent, applies(wanted.configuration))
    report = lint(linted, policy)
    remarks = undecided(wanted.intent, wanted.configuration)
    return located(replace(report, remarks=(*report.remarks, *remarks)), wanted.tree)


def _tuned(wanted: Wanted) -> Callable[[Layout, Layouts], str]:
    """Why a record counts as tuned: by itself, or because the command line or the file with intents names it."""

    def reason(layout: Layout, layouts: Layouts) -> str:
        if any(fnmatchcase(layout.name, pattern) for pattern in wanted.intent.lint.types):
            return "is named in linesmith.toml"
        return tuned(layout, layouts) or ("is named by --type" if wanted.types else "")

    return reason


def root_of(place: Path) -> Path:
    """The root of the git tree around ``place``, or ``place`` where there is none."""
    return next((one for one in (place, *place.parents) if (one / ".git").exists()), place)


def sides(running: Running, files: tuple[Path | None, Path], *, followed: bool) -> Callable[[Reading], Side]:
    """What makes a side of a build; raises ``click.UsageError`` where code would be ``followed`` for nothing."""
    if followed and files[0] is None:
        raise click.UsageError(
            "--access tells of members that came together; give two builds, --base OLD and --head NEW"
        )
    return partial(_followed_side if followed else side, running)


def side(running: Running, reading: Reading) -> Side:
    """A build, of which nobody asks who touches what."""
    kernel = kernel_of(Path(reading.identity.path), reading.identity, running).kernel
    return Side(reading.layouts, kernel, slabs=has_slabs(reading.layouts))


def _followed_side(running: Running, reading: Reading) -> Side:
    """A build whose code is followed when a rule asks who touches a record."""
    from linesmith.analyzer.access import accesses_of  # imports numpy

    @cache
    def accesses() -> AccessMap:
        return load_accesses(Path(reading.identity.path)).accesses

    plain = side(running, reading)
    return replace(plain, accesses=lambda layout: accesses_of(layout, plain.layouts, accesses()))
