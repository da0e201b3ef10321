# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``linesmith lint`` that name two versions of a source tree, and the way from them to their records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import DeadlinePassed
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.settled import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.cli.lint import Judging
    from linesmith.analyzer.cli.linting import Wanted
    from linesmith.analyzer.lint.linting import Linted
    from linesmith.analyzer.model import Layout, LintReport
    from linesmith.patches.build.confinement import Deadline
    from linesmith.patches.revisions.versions import Versions


_PATCH = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
# What --on calls the configuration that is judged in any case.
_OWN = "tree"
_OPTIONS = (
    click.option("--base-ref", metavar="REV", help="The revision of --tree before the change."),
    click.option(
        "--head-ref", metavar="REV", help="The revision with the change; HEAD where only --base-ref is given."
    ),
    click.option(
        "--patch",
        "patches",
        metavar="FILE",
        type=_PATCH,
        multiple=True,
        help="Judge this patch of --tree, as git format-patch writes it; repeat it for a series, - is stdin.",
    ),
    options.build,
    options.cflags,
    options.deadline_given,
    options.ON,
)


@dataclass(frozen=True, slots=True)
class Given:
    """The options as they were given."""

    base_ref: str | None
    head_ref: str | None
    patches: tuple[Path, ...]
    build: Path | None
    cflags: str
    deadline: Deadline
    on: tuple[str, ...]

    def asked_beside(self, *builds: Path | None) -> bool:
        """Whether versions of sources are to be judged, not ``builds``.

        Raises ``click.UsageError`` for options that do not go together.
        """
        if "" in (self.base_ref, self.head_ref):
            raise click.UsageError("a revision is empty, as it is where a command that should name it failed; name one")
        asked = bool(self.base_ref or self.head_ref or self.patches)
        if asked and any(builds):
            raise click.UsageError("--base-ref and --patch judge sources, ELF, --base and --head builds; give one kind")
        if self.patches and (self.base_ref or self.head_ref):
            raise click.UsageError("--patch and --base-ref both say what the change is; give one of them")
        if self.head_ref and not self.base_ref:
            raise click.UsageError("--head-ref names the change, but nothing what was before; add --base-ref REV")
        if not asked and any(map(is_given, ("build", "cflags", "deadline", "on"))):
            raise click.UsageError(
                "--build, --cflags, --deadline and --on tell how to compile sources; add --base-ref REV or --patch FILE"
            )
        return asked

    @contextmanager
    def versions(self, tree: Path) -> Iterator[Versions]:
        """The versions, for as long as the block lasts; raises ``TreeError``, ``PatchRefused``, ``ToolMissing``."""
        from linesmith.analyzer.cli.output import tell_who_waits
        from linesmith.patches.revisions.git import repository_of
        from linesmith.patches.revisions.mail_texts import mails_of
        from linesmith.patches.revisions.mails import patched
        from linesmith.patches.revisions.versions import revisions, uncommitted

        if self.patches:
            texts = (
                ("standard input", sys.stdin.buffer.read()) if str(one) == "-" else (one.name, one.read_bytes())
                for one in self.patches
            )
            yield patched(tree, [mail for name, text in texts for mail in mails_of(name, text)])
        else:
            git, head = repository_of(tree), self.head_ref or "HEAD"
            left = tuple(uncommitted(git)) if head == "HEAD" else ()
            with revisions(git, self.base_ref or "", head, tell_who_waits) as found:
                yield replace(found, remarks=(*found.remarks, *left))


def given(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``sources``."""

    @wraps(command)
    def gathered(
        *,
        base_ref: str | None,
        head_ref: str | None,
        patches: tuple[Path, ...],
        build: Path | None,
        cflags: str,
        deadline: Deadline,
        on: tuple[str, ...],
        **others: object,
    ) -> int:
        return command(sources=Given(base_ref, head_ref, patches, build, cflags, deadline, on), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


@dataclass(frozen=True, slots=True)
class Asking:
    """What the other options say: the tree, the configuration, the number of CPUs, rules and types."""

    tree: Path | None
    kconfig: Path | None
    cpus: int
    judging: Judging
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """The report on the versions, the names of records that were seen, and what was wanted."""

    report: LintReport
    names: frozenset[str]
    wanted: Wanted


def judged(sources: Given, asking: Asking) -> Judged:
    """The records that differ between the versions, held against the intents of the second one.

    What the deadline left out is in the report. Raises what ``Given.versions`` does, ``IntentError``, and
    ``VerificationFailed`` for a change that does not compile.
    """
    from linesmith.analyzer.cli.linting import root_of
    from linesmith.analyzer.lint.linting import merged
    from linesmith.patches.matrix.check import check_names
    from linesmith.patches.matrix.processes import each_apart
    from linesmith.patches.source.tree import Tree

    tree = asking.tree or root_of(Path.cwd())
    with ExitStack() as stack:
        try:
            with sources.deadline.running():
                versions = stack.enter_context(sources.versions(tree))
                check_names(Tree(versions.root), "", sources.on, tree)
                wanted = _wanted(versions, tree, asking)
        except DeadlinePassed as error:
            return _unread(sources, tree, asking, error)
        names = ("", *(name for name in dict.fromkeys(sources.on) if name != _OWN))
        under = partial(_judged_under, versions, wanted, sources, asking)
        found = each_apart(under, names) if len(names) > 1 else [under(names[0])]
    seen = frozenset(name for one in found for name in one.names)
    return Judged(merged([(one.title, one.report) for one in found]), seen, wanted)


def _unread(sources: Given, tree: Path, asking: Asking, error: DeadlinePassed) -> Judged:
    """What is left to report where not even the change was read in time."""
    from linesmith.analyzer.cli import linting
    from linesmith.analyzer.lint.linting import enabled_rules
    from linesmith.analyzer.model import NO_INTENT, LintChoice, LintReport

    rules = enabled_rules((LintChoice(asking.judging.select, asking.judging.ignore),))
    wanted = linting.Wanted(tree, NO_INTENT, None, rules, asking.types)
    head = sources.head_ref or ("HEAD" if sources.base_ref else "the patch")
    report = LintReport(head, sources.base_ref or "", remarks=(str(error),), unjudged=("the change",))
    return Judged(report, frozenset(), wanted)


@dataclass(frozen=True, slots=True)
class _Under:
    """The report under one configuration, what that is known by, and the names of records that were seen."""

    title: str
    report: LintReport
    names: frozenset[str]


def _judged_under(versions: Versions, wanted: Wanted, sources: Given, asking: Asking, name: str) -> _Under:
    from linesmith.analyzer.cli.linting import judged as judged_once
    from linesmith.analyzer.model import LintReport

    try:
        title, linted, each = _compared(versions, wanted, name, sources, asking)
    except DeadlinePassed as error:
        files = tuple(sorted(one.file for one in versions.changes))
        report = LintReport(versions.head, versions.base, remarks=(str(error),), unjudged=files or ("the change",))
        return _Under(name or _OWN, report, frozenset())
    return _Under(title, judged_once(linted, each), frozenset(linted.new.layouts.names()))


def _compared(
    versions: Versions, wanted: Wanted, name: str, sources: Given, asking: Asking
) -> tuple[str, Linted, Wanted]:
    """What a configuration is known by, the records that differ under it, and what is wanted of them there."""
    from linesmith.analyzer.base.errors import ToolMissing, TreeError, VerificationFailed
    from linesmith.patches.revisions.compiling import Recipe
    from linesmith.patches.revisions.sources import sources as compared
    from linesmith.patches.source.tree import Tree

    tree = Tree(wanted.tree, sources.build, sources.cflags)
    recipe = Recipe(tree, asking.kconfig, asking.cpus, name, sources.deadline)
    try:
        found = compared(versions, recipe, wanted.records, partial(_tell, name or _OWN if sources.on else ""))
    except (TreeError, ToolMissing, VerificationFailed) as error:
        if name:
            raise type(error)(f"with {name}: {error}") from error
        raise
    configuration = wanted.configuration if wanted.configuration is not None and not name else found.configuration
    pairs = tuple(pair for pair in found.linted.pairs if _is_asked_for(pair[1] or pair[0], asking.types))
    return found.title or name, replace(found.linted, pairs=pairs), replace(wanted, configuration=configuration)


def _tell(configuration: str, progress: str) -> None:
    from linesmith.analyzer.cli.output import tell_who_waits

    tell_who_waits(f"{configuration}: {progress}" if configuration else progress)


def _wanted(versions: Versions, tree: Path, asking: Asking) -> Wanted:
    """What is wanted, by the intents that the command line names, or else those of the second version."""
    from linesmith.analyzer.cli import linting
    from linesmith.analyzer.intent.reading import FILE_NAME, intent_in
    from linesmith.analyzer.lint.linting import enabled_rules
    from linesmith.analyzer.model import LintChoice

    judging = asking.judging
    if judging.intent is not None:
        return linting.wanted(tree, asking.kconfig, judging, asking.types)
    intent = intent_in((versions.now(FILE_NAME) or b"").decode("utf-8", "replace"))
    rules = enabled_rules((intent.lint, LintChoice(judging.select, judging.ignore)))
    return linting.Wanted(tree, intent, None, rules, asking.types)


def _is_asked_for(layout: Layout | None, types: tuple[str, ...]) -> bool:
    return not types or (layout is not None and any(fnmatchcase(layout.name, pattern) for pattern in types))
