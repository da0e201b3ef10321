# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``linesmith lint`` judges: one build, two of them, or two versions of a source tree; each becomes a report.

Either way the records side by side (``Linted``) are held against ``LintSettings``: the rules that are on, and the
intents of ``linesmith.toml``, to which a profile may add what it shows of records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import DeadlinePassed, ToolMissing, TreeError, VerificationFailed
from linesmith.analyzer.cli.analysis import analyse, load, root_of, side
from linesmith.analyzer.cli.output import remark, tell_who_waits
from linesmith.analyzer.model import NO_INTENT, LintChoice, LintReport, TypeIntent

if TYPE_CHECKING:
    from linesmith.analyzer.cli.lint import JudgingOptions, VersionOptions
    from linesmith.analyzer.cli.options import MachineOptions
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.lint.linting import Linted
    from linesmith.analyzer.lint.rules.catalogue import LintedBuild, Rule
    from linesmith.analyzer.model import Finding, Intent, Layout
    from linesmith.patches.revisions.versions import Versions


_PATTERN = "*?["
# Raw BTF does not say for which machine it is.
_ANY_MACHINE = "any"
# What --on calls the configuration that is judged in any case.
_OWN = "tree"


@dataclass(frozen=True, slots=True)
class LintRequest:
    """What the options say of any input: the tree, the configuration, the machine, rules, and types of interest."""

    tree: Path | None
    kconfig: Path | None
    machine: MachineOptions
    judging: JudgingOptions
    types: tuple[str, ...]

    def rules(self, *before: LintChoice) -> tuple[Rule, ...]:
        """The rules that are on by the choices of a file and then of the command line; raises ``RuleUnknown``."""
        from linesmith.analyzer.lint.linting import enabled_rules

        return enabled_rules((*before, LintChoice(self.judging.select, self.judging.ignore)))

    def includes(self, layout: Layout | None) -> bool:
        """Whether a record is among the types of interest."""
        return not self.types or (
            layout is not None and any(fnmatchcase(layout.name, pattern) for pattern in self.types)
        )

    def settings(self) -> LintSettings:
        """Those of the tree, or of the files that the command line names.

        Raises ``IntentError`` or ``RuleUnknown``.
        """
        from linesmith.analyzer.intent.check import read_symbols
        from linesmith.analyzer.intent.reading import intent_of_tree, read_intent

        root = self.tree or root_of(Path.cwd())
        intent = intent_of_tree(root) if self.judging.intent is None else read_intent(self.judging.intent)
        symbols = read_symbols(self.kconfig) if self.kconfig else None
        return LintSettings(root, intent, symbols, self.rules(intent.lint), self.types)


@dataclass(frozen=True, slots=True)
class LintSettings:
    """What layouts are held against: intents, rules, and the symbols of the configuration where these are known.

    ``tree`` is the root that files are named below; with ``types`` only records so called are judged.
    """

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

    def tuned(self, layout: Layout, layouts: Layouts) -> str:
        """Why a record counts as tuned: by itself, or because the command line or the file with intents names it."""
        from linesmith.analyzer.lint.pairs import tuned

        if any(fnmatchcase(layout.name, pattern) for pattern in self.intent.lint.types):
            return "is named in linesmith.toml"
        return tuned(layout, layouts) or ("is named by --type" if self.types else "")


@dataclass(frozen=True, slots=True)
class LintResult:
    """The report, the names of records that were seen, and what the configuration is known by if there are several."""

    report: LintReport
    names: frozenset[str]
    title: str = ""


def judged(linted: Linted, settings: LintSettings, title: str = "") -> LintResult:
    """Every violation, its file named as the tree has it."""
    from linesmith.analyzer.intent.check import applies, undecided
    from linesmith.analyzer.lint.linting import Policy, lint
    from linesmith.analyzer.lint.pairs import located

    policy = Policy(settings.rules, settings.tuned, settings.intent, applies(settings.configuration))
    report = lint(linted, policy)
    remarks = undecided(settings.intent, settings.configuration)
    report = located(replace(report, remarks=(*report.remarks, *remarks)), settings.tree)
    return LintResult(report, frozenset(linted.new.layouts.names()), title)


# Builds.


def of_builds(
    alone: Sequence[Path], base: Path | None, head: Path | None, request: LintRequest, profile: Path | None
) -> tuple[LintResult, LintSettings]:
    """The one build ``alone``, or ``head`` against ``base``.

    The configuration that intents depend on is that of the kernel where nobody names one. Raises ``click.UsageError``
    where it is neither one build nor two, and ``TypeNotFound``.
    """
    from linesmith.analyzer.intent.check import configuration_of

    if not (len(alone) == 1 and base is None and head is None) and (alone or base is None or head is None):
        raise click.UsageError("give one build (ELF), or two builds (--base OLD --head NEW)")
    new = head or alone[0]
    settings = request.settings()
    if settings.configuration is None and any(one.configuration for one in settings.intent.types):
        settings = replace(settings, configuration=configuration_of(new))
    if profile is not None:
        settings = _profiled(settings, base or new, profile)
    return judged(_linted(base, new, settings, partial(side, request.machine)), settings), settings


def _linted(
    base: Path | None, head: Path, settings: LintSettings, make_side: Callable[[Reading], LintedBuild]
) -> Linted:
    """The records of the builds, side by side; raises ``TypeNotFound`` for what neither of them has."""
    from linesmith.analyzer.lint.linting import Linted
    from linesmith.analyzer.lint.pairs import of_one, of_two

    after = load(head)
    new = make_side(after)
    if base is None:
        alone = of_one(after.layouts, settings.types)
        return Linted(str(head), new, alone.pairs, compared=alone.compared, remarks=tuple(_limits(after)))
    before = load(base)
    found = of_two(before.layouts, after.layouts, settings.types, settings.records)
    return Linted(
        str(head),
        new,
        found.pairs,
        str(base),
        make_side(before),
        found.compared,
        found.changed,
        remarks=(*dict.fromkeys((*_limits(before), *_limits(after))), *_differences(before, after)),
    )


def _limits(reading: Reading) -> Iterator[str]:
    if reading.reader == "BTF":
        yield ("BTF has no alignment attributes and no source lines, so lost alignments are not reported; give DWARF")


def _differences(base: Reading, head: Reading) -> Iterator[str]:
    """That the builds are for different machines."""
    old, new = base.identity, head.identity
    known = _ANY_MACHINE not in (old.machine, new.machine)
    if (known and old.machine != new.machine) or old.little_endian != new.little_endian:
        machines = f"{old.machine} and {new.machine}"
        yield f"the builds are for {machines}, so they differ by more than the change; build both for the same machine"


def _profiled(settings: LintSettings, elf: Path, profile: Path) -> LintSettings:
    """The same with the members that ``profile``, of the build ``elf``, shows hot, read or written, as intents.

    A record that ``linesmith.toml`` says such things of is left as it is there. Raises what reading the profile does.
    """
    said = {one.record for one in settings.intent.types if one.hot or one.read_mostly or one.write_hot}
    shown = tuple(_shown(elf, profile))
    if not shown:
        remark(
            f"{profile.name} has no access to a record of {elf.name}, so no member is protected; is it a profile of"
            " another program?"
        )
    added = tuple(one for one in shown if one.record not in said)
    return replace(settings, intent=replace(settings.intent, types=(*settings.intent.types, *added)))


def _shown(elf: Path, profile: Path) -> Iterator[TypeIntent]:
    from linesmith.analyzer.intent.entry import usage

    found = analyse(elf, profile)
    layouts = found.reading.layouts
    lines: dict[int, list[Finding]] = {}
    for one in found.findings:
        number = one.objects[0].layout if one.objects else None
        if number is not None:
            lines.setdefault(number, []).append(one)
    for number, of_record in lines.items():
        layout = layouts.by_id(number)
        seen = usage(of_record, layout, layouts)
        if layout.name and seen.hot:
            yield TypeIntent(
                layout.name,
                f"{profile.name} shows {seen.samples:,} accesses",
                hot=seen.hot,
                read_mostly=seen.read_mostly,
                write_hot=seen.write_hot,
                place=profile.name,
            )


# Versions of a source tree.


def of_sources(sources: VersionOptions, request: LintRequest) -> tuple[LintResult, LintSettings]:
    """The records that differ between the versions, held against the intents of the second one.

    What the deadline left out is in the report. Raises what ``_versions`` does, ``IntentError``, and
    ``VerificationFailed`` for a change that does not compile.
    """
    from linesmith.analyzer.lint.linting import merged
    from linesmith.patches.matrix.check import check_names
    from linesmith.patches.matrix.kernels import each_apart
    from linesmith.patches.source.tree import Tree

    tree = request.tree or root_of(Path.cwd())
    with ExitStack() as stack:
        try:
            with sources.deadline.running():
                versions = stack.enter_context(_versions(sources, tree))
                check_names(Tree(versions.root), "", sources.on, tree)
                settings = _settings_in(versions, tree, request)
        except DeadlinePassed as error:
            # Not even the change was read in time.
            head = sources.head_ref or ("HEAD" if sources.base_ref else "the patch")
            report = LintReport(head, sources.base_ref or "", remarks=(str(error),), unjudged=("the change",))
            settings = LintSettings(tree, NO_INTENT, None, request.rules(), request.types)
            return LintResult(report, frozenset()), settings
        names = ("", *(name for name in dict.fromkeys(sources.on) if name != _OWN))
        under = partial(_judged_under, versions, settings, sources, request)
        found = each_apart(under, names) if len(names) > 1 else [under(names[0])]
    seen = frozenset(name for one in found for name in one.names)
    return LintResult(merged([(one.title, one.report) for one in found]), seen), settings


@contextmanager
def _versions(sources: VersionOptions, tree: Path) -> Iterator[Versions]:
    """The versions, for as long as the block lasts; raises ``TreeError``, ``PatchRefused``, ``ToolMissing``."""
    from linesmith.patches.revisions.git import repository_of
    from linesmith.patches.revisions.mails import mails_of, patched
    from linesmith.patches.revisions.versions import revisions, uncommitted

    if sources.patches:
        texts = (
            ("standard input", sys.stdin.buffer.read()) if str(one) == "-" else (one.name, one.read_bytes())
            for one in sources.patches
        )
        yield patched(tree, [mail for name, text in texts for mail in mails_of(name, text)])
    else:
        git, head = repository_of(tree), sources.head_ref or "HEAD"
        left = tuple(uncommitted(git)) if head == "HEAD" else ()
        with revisions(git, sources.base_ref or "", head, tell_who_waits) as found:
            yield replace(found, remarks=(*found.remarks, *left))


def _settings_in(versions: Versions, tree: Path, request: LintRequest) -> LintSettings:
    """Those with the intents that the command line names, or else those of the second version."""
    from linesmith.analyzer.intent.reading import FILE_NAME, intent_in

    if request.judging.intent is not None:
        return replace(request, tree=tree).settings()
    intent = intent_in((versions.now(FILE_NAME) or b"").decode("utf-8", "replace"))
    return LintSettings(tree, intent, None, request.rules(intent.lint), request.types)


def _judged_under(
    versions: Versions, settings: LintSettings, sources: VersionOptions, request: LintRequest, name: str
) -> LintResult:
    """The result under the configuration called ``name``, that of the tree where it is empty."""
    from linesmith.patches.revisions.compiling import CompileRequest
    from linesmith.patches.revisions.sources import sources as compared
    from linesmith.patches.source.tree import Tree

    def tell(progress: str) -> None:
        tell_who_waits(f"{name or _OWN}: {progress}" if sources.on else progress)

    tree = Tree(settings.tree, sources.build, sources.cflags)
    recipe = CompileRequest(tree, request.kconfig, request.machine.cpus, name, sources.deadline)
    try:
        found = compared(versions, recipe, settings.records, tell)
    except DeadlinePassed as error:
        files = tuple(sorted(one.file for one in versions.changes))
        report = LintReport(versions.head, versions.base, remarks=(str(error),), unjudged=files or ("the change",))
        return LintResult(report, frozenset(), name or _OWN)
    except (TreeError, ToolMissing, VerificationFailed) as error:
        if name:
            raise type(error)(f"with {name}: {error}") from error
        raise
    if settings.configuration is None or name:
        settings = replace(settings, configuration=found.configuration)
    pairs = tuple(pair for pair in found.linted.pairs if request.includes(pair[1] or pair[0]))
    return judged(replace(found.linted, pairs=pairs), settings, found.title or name)
