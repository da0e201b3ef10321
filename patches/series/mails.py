# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as the files that a person sends or applies: mails where the tree is a repository, plain diffs elsewhere.

Mails are written by ``git format-patch`` in a repository of its own that is gone afterwards. That holds nothing but the
files that change, so it is made at once however large the tree is, and the one of the user is only read: no branch, no
worktree, no object; nor can it make git run a program. Diffs are those of ``git diff --no-index``, by a git without
configuration and attributes.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.base.child import Command, environment, run, run_apart
from linesmith.analyzer.base.errors import CommandTimedOut, ToolMissing, TreeError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.model import FileChange, PatchSeries, SeriesStep
from linesmith.patches.build.overlay import scratch

_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
    "-c", "gpg.program=false", "-c", "protocol.allow=never", "--no-pager", "--no-optional-locks",
)  # fmt: skip
_SECONDS = 20
_MAILS_SECONDS = 60
_IDENTITY = re.compile(r"(.*?) ?<([^<>]*)> \d+ [+-]\d{4}")
_UNKNOWN = ("unknown", "unknown@localhost")
# Bytes are compared as they are, functions are named as the kernel's own attributes have it.
_ATTRIBUTES = "* -text -filter -ident\n*.c diff=cpp\n*.h diff=cpp\n"
_FORMAT = (
    "format-patch", "-q", "--zero-commit", "--no-signature", "--abbrev=12", "--no-renames", "--stat=72", "--summary",
    "-o", "../mails",
)  # fmt: skip


# Lines at which programs that apply a mail would end its message.
_ENDS_A_MESSAGE = re.compile(r"^(?=---|diff -|Index: |From )", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST_NAME = 52
_DIFF = (
    "git", "-c", "core.attributesFile=/dev/null", "-c", "core.quotePath=false", "diff", "--no-index", "--no-prefix",
    "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--text", "--minimal",
)  # fmt: skip
_VARIABLES = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_ATTR_NOSYSTEM": "1"}
_DIFF_SECONDS = 60
# The names of blobs, which say nothing outside of a repository.
_INDEX = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+ \d+\n", re.MULTILINE)
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)
_PLUS_MINUS = 50


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository that holds ``tree``: ``folder`` is the path of the tree in it, with a slash at its end; empty
    where both are the same.

    ``head`` is the commit that is checked out, empty where there is none yet.
    """

    tree: Path
    folder: str
    head: str

    def answer(self, *arguments: str) -> str:
        """What git prints for the arguments, without the line's end; empty where it fails."""
        return _answer(self.tree, *arguments)

    def holds(self, file: str, content: Path) -> bool:
        """Whether the commit has ``file``, relative to the tree, with the bytes of the file ``content``."""
        recorded = self.answer("rev-parse", "--verify", "--quiet", f"HEAD:{self.folder}{file}")
        return bool(recorded) and recorded == self.answer("hash-object", "--no-filters", "--", str(content))


def repository(tree: Path) -> Repository | None:
    """The repository of a tree; ``None`` where the tree is in none, or git is missing or refuses to read it."""
    if shutil.which("git") is None:
        return None
    found = _answer(tree, "rev-parse", "--is-inside-work-tree", "--show-prefix").split("\n")
    if found[0] != "true":
        return None
    return Repository(tree, found[1] if len(found) > 1 else "", _answer(tree, "rev-parse", "--verify", "-q", "HEAD"))


def _answer(tree: Path, *arguments: str) -> str:
    """What git prints; its warnings are not part of it."""
    try:
        ended = run_apart(Command((*_GIT, *arguments), tree, _SECONDS, variables=environment()))
    except (ToolMissing, CommandTimedOut):
        return ""
    return "" if ended.status else ended.output.decode("utf-8", "surrogateescape").rstrip("\n")


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A file to write: ``name`` without a folder, numbered in the order in which the files apply."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Scratch:
    """A repository in a folder for a moment; ``author`` is a name and an address."""

    root: Path
    author: tuple[str, str]

    @property
    def work(self) -> Path:
        return self.root / "work"

    def git(self, *arguments: str) -> None:
        """Run git, knowing no configuration but that of the scratch repository. Raises ``TreeError``."""
        name, address = self.author
        known = [f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
        variables = [f"{one}={name if one.endswith('NAME') else address}" for one in known]
        alone = (f"HOME={self.root}", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=/")
        ended = run(Command(("env", *variables, *alone, "git", *arguments), self.work, _MAILS_SECONDS))
        if ended.status:
            raise TreeError(f"git {arguments[0]} failed in {self.work}: {ended.output.strip() or ended.status}")


def patch_files(series: PatchSeries, tree: Path) -> tuple[PatchFile, ...]:
    """The files in the order in which they apply.

    The tree and its repository are only read. Raises ``TreeError`` where the tree is not as the series expects it, or
    where git fails.
    """
    _check(series.steps, tree)
    steps = []
    for step in series.steps:
        message = visible(_ENDS_A_MESSAGE.sub(" ", step.message).strip("\n"))
        below = visible(_ENDS_A_MESSAGE.sub(" ", step.below))
        steps.append(replace(step, message=f"{message}\n", below=below))
    known = repository(tree)
    # Of a folder in a repository, names from the root would not apply in the tree, others not with `git am`.
    if known and not known.folder:
        return _mails(steps, known)
    return tuple(_plain_file(number, step) for number, step in enumerate(steps, start=1))


def _check(steps: Sequence[SeriesStep], tree: Path) -> None:
    """Raise ``TreeError`` where a step does not begin with what the one before it, or the tree, has."""
    if not steps or not all(step.changes for step in steps):
        raise TreeError(f"nothing to change in {tree}")
    known: dict[str, bytes | None] = {}
    for change in (change for step in steps for change in step.changes):
        if change.file not in known:
            path = tree / change.file
            known[change.file] = path.read_bytes() if path.is_file() else None
        if known[change.file] != change.before:
            raise TreeError(f"{tree / change.file} has changed meanwhile; run the command again")
        known[change.file] = change.after


def _plain_file(number: int, step: SeriesStep) -> PatchFile:
    """Message, diffstat, diff: what ``git apply`` and ``patch -p1`` take."""
    subject = step.message.partition("\n")[0]
    short = _NOT_IN_A_NAME.sub("-", subject)[:_LONGEST_NAME].strip("-.")
    below = f"{step.below}\n\n" if step.below else ""
    diff = files_diff(step.changes)
    stat = _bytes(visible(f"---\n{below}{diffstat(diff)}\n"))
    return PatchFile(f"{number:04}-{short}.patch", _bytes(step.message) + stat + diff)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _mails(steps: Sequence[SeriesStep], known: Repository) -> tuple[PatchFile, ...]:
    """The files of ``git format-patch``, with the commit of ``known`` that they are based on.

    Raises ``TreeError`` when git fails.
    """
    with scratch("linesmith-series-") as folder:
        work = _Scratch(folder, author(known))
        _begin(work, steps, known)
        # The commit that is checked out, where it has the files that change as the tree has them.
        files = {change.file for step in steps for change in step.changes if change.before is not None}
        based = known.head if all(known.holds(file, work.work / file) for file in files) else ""
        for step in steps:
            for change in step.changes:
                _put(work, known, change.file, change.after)
            _commit(work, step.message)
        work.git(*_FORMAT, "base..series")
        found = []
        for number, path in enumerate(sorted((work.root / "mails").iterdir())):
            # The first file says what it is based on, as ``git format-patch --base`` writes it.
            base = f"\nbase-commit: {based}\n" if based and not number else ""
            text = path.read_bytes().rstrip(b"\n") + b"\n" + base.encode()
            below = f"{steps[number].below}\n\n" if steps[number].below else ""
            note = b"\n---\n" + below.encode("utf-8", "surrogateescape")
            found.append(PatchFile(path.name, text.replace(b"\n---\n", note, 1)))
        return tuple(found)


def author(known: Repository) -> tuple[str, str]:
    """Name and address of the user as git knows them for this tree; a stand-in where it does not."""
    found = _IDENTITY.fullmatch(known.answer("var", "GIT_AUTHOR_IDENT"))
    return (found[1], found[2]) if found else _UNKNOWN


def _begin(scratch: _Scratch, steps: Sequence[SeriesStep], known: Repository) -> None:
    """The repository with the files as they are."""
    scratch.work.mkdir()
    scratch.git("init", "-q", "--template=", "--initial-branch=series")
    (scratch.work / ".git" / "info").mkdir()
    (scratch.work / ".git" / "info" / "attributes").write_text(_ATTRIBUTES, encoding="utf-8")
    first = {change.file: change.before for step in reversed(steps) for change in step.changes}
    for file, content in first.items():
        _put(scratch, known, file, content)
    _commit(scratch, "The tree as it is\n")
    scratch.git("tag", "base")


def _put(scratch: _Scratch, known: Repository, file: str, content: bytes | None) -> None:
    """Write ``file``, relative to the tree, as executable as it is there; ``None`` removes it."""
    path = scratch.work / file
    if content is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    original = known.tree / file
    if original.is_file():
        path.chmod(original.stat().st_mode & 0o777 | 0o600)


def _commit(scratch: _Scratch, message: str) -> None:
    (scratch.root / "message").write_bytes(message.encode("utf-8", "surrogateescape"))
    scratch.git("add", "-A", "-f", ".")
    options = ("-q", "--allow-empty", "--no-verify", "--no-gpg-sign", "--cleanup=verbatim")
    scratch.git("commit", *options, "-F", str(scratch.root / "message"))


def unified_diff(old: bytes, new: bytes, path: str) -> bytes:
    """The diff from ``old`` to ``new`` for ``git apply`` and ``patch -p1``; empty when they are equal."""
    return files_diff((FileChange(path, old, new),))


def files_diff(changes: Sequence[FileChange]) -> bytes:
    """The diff of several files, which are there before and after; raises ``ToolMissing`` without git."""
    return _INDEX.sub(b"", _said(changes, "--unified=3"))


def differing_lines(old: bytes, new: bytes) -> Iterator[tuple[range, range]]:
    """The lines that differ, counted from 0, of the ``old`` and of the ``new`` text, in order."""
    for hunk in _HUNK.finditer(_said((FileChange("text", old, new),), "--unified=0")):
        sides = []
        for start, count in ((hunk[1], hunk[2]), (hunk[3], hunk[4])):
            number = 1 if count is None else int(count)
            # An empty side is numbered by the line in front of it, a filled one by its first line.
            first = int(start) - (number > 0)
            sides.append(range(first, first + number))
        yield sides[0], sides[1]


def _said(changes: Sequence[FileChange], context: str) -> bytes:
    if all(change.before == change.after for change in changes):
        return b""
    with scratch("linesmith-diff-") as folder:
        for change in changes:
            for side, content in (("a", change.before), ("b", change.after)):
                place = folder / side / change.file
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content or b"")
        command = Command((*_DIFF, context, "a", "b"), folder, _DIFF_SECONDS, variables={**environment(), **_VARIABLES})
        ended = run_apart(command)
    if ended.status not in (0, 1):
        raise TreeError(f"git diff failed ({ended.errors.strip() or ended.status}); check the installation of git")
    return ended.output


def diffstat(diff: bytes) -> str:
    """What ``git diff --stat`` prints for a diff of one or several files."""
    counts: list[tuple[str, int, int]] = []
    for part in _FILE.split(diff)[1:]:
        head, _, hunks = part.partition(b"\n@@ ")
        file = head.rpartition(b"\n+++ b/")[2].rstrip(b"\t").decode("utf-8", "surrogateescape")
        added, removed = (sum(line.startswith(sign) for line in hunks.split(b"\n")[1:]) for sign in (b"+", b"-"))
        counts.append((file, added, removed))
    widest = max(len(file) for file, _, _ in counts)
    most = max(added + removed for _, added, removed in counts)
    digits, scale = len(str(most)), min(1.0, _PLUS_MINUS / most) if most else 0
    rows = []
    for file, added, removed in counts:
        bars = (sign * max(round(lines * scale), lines > 0) for sign, lines in (("+", added), ("-", removed)))
        rows.append(f" {file:<{widest}} | {added + removed:{digits}} {''.join(bars)}\n")
    added, removed = sum(one[1] for one in counts), sum(one[2] for one in counts)
    changed = [f" {added} insertion{'s' * (added != 1)}(+)"] * (added > 0)
    changed += [f" {removed} deletion{'s' * (removed != 1)}(-)"] * (removed > 0)
    return "".join(rows) + f" {len(counts)} file{'s' * (len(counts) != 1)} changed,{','.join(changed)}\n"
