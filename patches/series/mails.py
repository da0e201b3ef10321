# SPDX-License-Identifier: GPL-2.0-or-later
"""A series as ``git format-patch`` writes it, from a repository of its own that is gone afterwards; and who gets it.

The repository holds nothing but the files that change, so it is made at once however large the tree is, and the one
of the user is only read: no branch, no worktree, no object; nor can it make git run a program. Who should get a patch
is what the tree's own ``scripts/get_maintainer.pl`` says.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.child import Command, environment, run, run_apart
from linesmith.analyzer.base.errors import CommandTimedOut, LinesmithError, ToolMissing, TreeError
from linesmith.analyzer.model import SeriesStep
from linesmith.patches.build.confinement import Confinement
from linesmith.patches.build.overlay import scratch
from linesmith.patches.edit.unified import files_diff
from linesmith.patches.source.tree import visible_files

_GIT = (
    "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.untrackedCache=false",
    "-c", "gpg.program=false", "-c", "protocol.allow=never", "--no-pager", "--no-optional-locks",
)  # fmt: skip
_SECONDS = 20
_SCRIPT = Path("scripts") / "get_maintainer.pl"
_ASKED = ("--no-git", "--no-git-fallback", "--no-rolestats", "--roles")
_RECIPIENTS_SECONDS = 60
_ROLE = re.compile(r"(?P<who>\S.*\S) \((?P<role>[^()]*(?:\([^()]*\)[^()]*)*)\)")
_MAILS_SECONDS = 60
_IDENTITY = re.compile(r"(.*?) ?<([^<>]*)> \d+ [+-]\d{4}")
_UNKNOWN = ("unknown", "unknown@localhost")
# Bytes are compared as they are, functions are named as the kernel's own attributes have it.
_ATTRIBUTES = "* -text -filter -ident\n*.c diff=cpp\n*.h diff=cpp\n"
_FORMAT = (
    "format-patch", "-q", "--zero-commit", "--no-signature", "--abbrev=12", "--no-renames", "--stat=72", "--summary",
    "-o", "../mails",
)  # fmt: skip


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
class Recipients:
    """``to`` are maintainers and reviewers, ``copies`` lists and all others; ``Name <address>`` or an address."""

    to: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()


NOBODY = Recipients()


def recipients(tree: Path, steps: Sequence[SeriesStep]) -> Recipients:
    """Who the tree's MAINTAINERS names for the changes; nobody where it has no such script, or perl is missing."""
    if not (tree / _SCRIPT).is_file() or shutil.which("perl") is None:
        return NOBODY
    with scratch("linesmith-recipients-") as folder:
        patch = folder / "series.patch"
        patch.write_bytes(b"".join(files_diff(step.changes) for step in steps))
        within = Confinement((*visible_files(tree), patch), (folder,))
        try:
            ended = run(Command(("perl", str(_SCRIPT), *_ASKED, str(patch)), tree, _RECIPIENTS_SECONDS, within))
        except LinesmithError:
            return NOBODY
    if ended.status:
        return NOBODY
    found = [(one["who"], one["role"]) for one in map(_ROLE.fullmatch, ended.output.splitlines()) if one]
    to = dict.fromkeys(who for who, role in found if role.startswith(("maintainer", "supporter", "reviewer")))
    copies = dict.fromkeys(who for who, _ in found if who not in to)
    return Recipients(tuple(to), tuple(copies))


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


def mails(steps: Sequence[SeriesStep], known: Repository, recipients: Recipients) -> tuple[PatchFile, ...]:
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
        addressed = (*(f"--to={one}" for one in recipients.to), *(f"--cc={one}" for one in recipients.copies))
        work.git(*_FORMAT, *addressed, "base..series")
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
