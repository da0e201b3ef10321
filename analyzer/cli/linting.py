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

from linesmith.analyzer.cli.analysis import Running, kernel_of, load, load_accesses
from linesmith.analyzer.cli.output import remark
from linesmith.analyzer.model import Finding, Intent, Layout, LintChoice, LintReport, TypeIntent

if TYPE_CHECKING:
    from collections.abc import Callable

    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.cli.lint import Judging
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.lint.linting import Linted
    from linesmith.analyzer.lint.rules.catalogue import LintedBuild, Rule


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
    from linesmith.analyzer.intent.check import read_symbols
    from linesmith.analyzer.intent.reading import intent_of_tree, read_intent
    from linesmith.analyzer.lint.linting import enabled_rules

    root = tree or root_of(Path.cwd())
    intent = intent_of_tree(root) if judging.intent is None else read_intent(judging.intent)
    choices = (intent.lint, LintChoice(judging.select, judging.ignore))
    symbols = read_symbols(kconfig) if kconfig else None
    return Wanted(root, intent, symbols, enabled_rules(choices), types)


def configured(wanted: Wanted, elf: Path) -> Wanted:
    """The same with the configuration that the kernel in ``elf`` carries, where an intent asks and nobody told it."""
    from linesmith.analyzer.intent.check import configuration_of

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


def linted(files: tuple[Path | None, Path], wanted: Wanted, side: Callable[[Reading], LintedBuild]) -> Linted:
    """The records of the builds, side by side; raises ``TypeNotFound`` for what neither of them has."""
    from linesmith.analyzer.lint.linting import Linted
    from linesmith.analyzer.lint.pairs import of_one, of_two

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
    from linesmith.analyzer.intent.check import applies, undecided
    from linesmith.analyzer.lint.linting import Policy, lint
    from linesmith.analyzer.lint.pairs import located

    policy = Policy(wanted.rules, _tuned(wanted), wanted.intent, applies(wanted.configuration))
    report = lint(linted, policy)
    remarks = undecided(wanted.intent, wanted.configuration)
    return located(replace(report, remarks=(*report.remarks, *remarks)), wanted.tree)


def _tuned(wanted: Wanted) -> Callable[[Layout, Layouts], str]:
    """Why a record counts as tuned: by itself, or because the command line or the file with intents names it."""
    from linesmith.analyzer.lint.tuned import tuned

    def reason(layout: Layout, layouts: Layouts) -> str:
        if any(fnmatchcase(layout.name, pattern) for pattern in wanted.intent.lint.types):
            return "is named in linesmith.toml"
        return tuned(layout, layouts) or ("is named by --type" if wanted.types else "")

    return reason


def root_of(place: Path) -> Path:
    """The root of the git tree around ``place``, or ``place`` where there is none."""
    return next((one for one in (place, *place.parents) if (one / ".git").exists()), place)


def sides(running: Running, files: tuple[Path | None, Path], *, followed: bool) -> Callable[[Reading], LintedBuild]:
    """What makes a side of a build; raises ``click.UsageError`` where code would be ``followed`` for nothing."""
    if followed and files[0] is None:
        raise click.UsageError(
            "--access tells of members that came together; give two builds, --base OLD and --head NEW"
        )
    return partial(_followed_side if followed else side, running)


def side(running: Running, reading: Reading) -> LintedBuild:
    """A build, of which nobody asks who touches what."""
    from linesmith.analyzer.lint.rules.catalogue import LintedBuild
    from linesmith.analyzer.slab.allocation import has_slabs

    kernel = kernel_of(Path(reading.identity.path), reading.identity, running).kernel
    return LintedBuild(reading.layouts, kernel, slabs=has_slabs(reading.layouts))


def _followed_side(running: Running, reading: Reading) -> LintedBuild:
    """A build whose code is followed when a rule asks who touches a record."""
    from linesmith.analyzer.access.questions import accesses_of  # imports numpy

    @cache
    def accesses() -> AccessMap:
        return load_accesses(Path(reading.identity.path)).accesses

    plain = side(running, reading)
    return replace(plain, accesses=lambda layout: accesses_of(layout, plain.layouts, accesses()))


# What a profile shows of records, said to the lint as an intent would.


def profiled(wanted: Wanted, elf: Path, profile: Path | None) -> Wanted:
    """The same with the members that ``profile``, of the build ``elf``, shows hot, read or written.

    A record that ``linesmith.toml`` says such things of is left as it is there. Raises what reading the profile does.
    """
    if profile is None:
        return wanted
    said = {one.record for one in wanted.intent.types if one.hot or one.read_mostly or one.write_hot}
    shown = tuple(_shown(elf, profile))
    if not shown:
        remark(
            f"{profile.name} shows no member of a record in {elf.name} and so guards nothing; is it of another program?"
        )
    added = tuple(one for one in shown if one.record not in said)
    return replace(wanted, intent=replace(wanted.intent, types=(*wanted.intent.types, *added)))


def _shown(elf: Path, profile: Path) -> Iterator[TypeIntent]:
    from linesmith.analyzer.cli.analysis import (
        analyse,
        with_offsets,  # imports numpy, which builds do without
    )
    from linesmith.analyzer.intent.entry import usage

    found = with_offsets(analyse(elf, profile, 1))
    layouts = found.reading.layouts
    for number, lines in _lines(found.findings).items():
        layout = layouts.by_id(number)
        seen = usage(lines, layout, layouts)
        if layout.name and seen.hot:
            yield TypeIntent(
                layout.name,
                f"{profile.name} shows {seen.samples:,} accesses",
                hot=seen.hot,
                read_mostly=seen.read_mostly,
                write_hot=seen.write_hot,
                place=profile.name,
            )


def _lines(findings: tuple[Finding, ...]) -> dict[int, list[Finding]]:
    """The lines of each record, by the id of its layout."""
    lines: dict[int, list[Finding]] = {}
    for one in findings:
        layout = one.objects[0].layout if one.objects else None
        if layout is not None:
            lines.setdefault(layout, []).append(one)
    return lines
