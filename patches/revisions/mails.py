# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of patches as two versions of a tree: it is applied to copies of the files that it names.

``git apply`` runs in a scratch folder that it cannot leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import PatchRefused
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import FileChange
from linesmith.patches.build.confinement import Confinement
from linesmith.patches.build.overlay import scratch
from linesmith.patches.revisions.mail_texts import Mail
from linesmith.patches.revisions.paths import is_of_interest, is_of_the_build, plain, read_inside
from linesmith.patches.revisions.versions import MOST_BYTES, Versions

_HEADS = re.compile(rb"^(?:---|\+\+\+) ([^\t\r\n]+)", re.MULTILINE)
_MOVED = re.compile(rb"^(?:rename|copy) (?:from|to) ([^\t\r\n]+)", re.MULTILINE)
_PAIRS = re.compile(rb"^diff --git ([^\s/]\S*) ([^\s/]\S*)$", re.MULTILINE)
_MULTIPART = re.compile(rb"^Content-Type:\s*multipart/", re.MULTILINE | re.IGNORECASE)
_SUBMODULE = re.compile(
    rb"^--- ([^\t\r\n]+)[^\n]*\n\+\+\+ ([^\t\r\n]+)[^\n]*\n@@[^\n]*\n[-+]Subproject commit [0-9a-f]{40}", re.MULTILINE
)
_COMPLAINT = re.compile(r"^error: ([^\n]{1,200})", re.MULTILINE)
_SECONDS = 120
_GIT = ("git", "--no-pager", "apply", "--whitespace=nowarn")
_ENVIRONMENT = (
    "env", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
)  # fmt: skip

_Files = Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True)
class _Failed:
    """The mail that does not apply, and what git says of it."""

    mail: Mail
    reason: str


def patched(tree: Path, mails: Sequence[Mail]) -> Versions:
    """The tree without and with the patches, whether it has all of them or none.

    Raises ``PatchRefused`` where they do not apply, or where the tree has some that change its build.
    """
    root = tree.resolve()
    given = [mail for mail in mails if _PAIRS.search(mail.text) or _HEADS.search(mail.text)]
    # In a patch as it is usual (``a/mm.h``) the first part of a name is none of the tree's.
    heads = [head for mail in given for head in _heads(mail.text)]
    strip = int(any(_is_in(root, _behind(head)) for head in heads) or not any(_is_in(root, head) for head in heads))
    paths = [_behind(head) if strip else head for head in heads]
    paths += (path for mail in given for path in _MOVED.findall(mail.text))
    # Whatever else the patches name does not lie beside these when they are applied.
    names = tuple(dict.fromkeys(name for path in paths if path and (name := plain(path)) is not None))
    if not names:
        raise PatchRefused(_no_patch(tree, mails))
    build = sorted(name for name in names if is_of_the_build(name.encode()))
    moved = {name.decode("utf-8", "replace") for mail in given for name in _MOVED.findall(mail.text)}
    # Pictures and the like may come without what it takes to apply them.
    useful = {name for name in names if is_of_interest(name.encode()) or is_of_the_build(name.encode())} | moved
    excluded = (f"--exclude={name}" for name in names if name not in useful)
    files = {name: read_inside(root, name, MOST_BYTES) for name in names}
    before, after, had = _sides(tree, given, files, (f"-p{strip}", *excluded))
    if had and build:
        message = f"{tree} has {given[0].name} already, which changes {build[0]} of the build; give the tree without it"
        raise PatchRefused(message)
    remarks = []
    if build:
        remarks.append(
            f"changed files of the build ({listed(build, 3)}) were not run: both "
            "versions are compiled as the tree is built"
        )
    remarks += _modules(given, strip)
    changes = tuple(
        FileChange(name, before.get(name), after.get(name))
        for name in sorted({*before, *after})
        if is_of_interest(name.encode())
    )
    title = given[0].name if len(given) == 1 else f"{given[0].name} … {given[-1].name}"
    return Versions(root.name, title, root, changes, tuple(remarks))


def _sides(tree: Path, mails: Sequence[Mail], files: _Files, options: tuple[str, ...]) -> tuple[_Files, _Files, bool]:
    """The files before and after, and whether the tree, which has the ``files``, has the patches already."""
    after = _applied(mails, files, options)
    if not isinstance(after, _Failed):
        return files, after, False
    before = _applied(mails[::-1], files, (*options, "--reverse"))
    if not isinstance(before, _Failed):
        return before, files, True
    if after.reason.startswith("corrupt"):
        raise PatchRefused(f"{after.mail.name} is damaged, {after.reason}; give the file that git wrote")
    said = f"{after.mail.name} applies to {tree} neither forwards nor backwards: {after.reason}"
    step = (
        "give all parts of the series, in their order" if len(mails) > 1 else "name the tree it is for with --tree DIR"
    )
    raise PatchRefused(f"{said}; {step}")


def _no_patch(tree: Path, mails: Sequence[Mail]) -> str:
    name = mails[0].name if mails else "standard input"
    if not any(mail.text.strip() for mail in mails):
        return f"{name} is empty; give a patch as `git format-patch` writes it"
    if any(_MULTIPART.search(mail.text) for mail in mails):
        return f"{name} is a mail of several parts, none of which is a patch; give one as `git format-patch` writes it"
    return f"{name} is no patch of files in {tree}; give one as `git format-patch` writes it"


def _modules(mails: Sequence[Mail], strip: int) -> Iterator[str]:
    found = (heads for mail in mails for heads in _SUBMODULE.findall(mail.text))
    heads = (new if old == b"/dev/null" else old for old, new in found)
    names = sorted({plain(_behind(head) if strip else head) or repr(head.decode("utf-8", "replace")) for head in heads})
    if names:
        counted = f"{len(names)} submodules" if len(names) > 1 else "1 submodule"
        yield f"{counted} ({listed(names, 1)}) not followed: --base-ref judges what another commit of one changes"


def _heads(text: bytes) -> Iterator[bytes]:
    yield from _HEADS.findall(text)
    for pair in _PAIRS.findall(text):
        yield from pair


def _behind(head: bytes) -> bytes:
    """A name without its first part, empty where that is all."""
    first, _, rest = head.partition(b"/")
    return rest if first else b""


def _is_in(root: Path, name: bytes) -> bool:
    kept = plain(name)
    return kept is not None and (root / kept).is_file()


def _applied(mails: Sequence[Mail], files: _Files, options: tuple[str, ...]) -> _Files | _Failed:
    """The files after all patches, or the first one that does not apply."""
    with scratch("linesmith-patch-") as made:
        folder = made / "tree"
        folder.mkdir()
        for name, content in files.items():
            if content is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        for mail in mails:
            (made / "patch").write_bytes(mail.text)
            alone = f"GIT_CEILING_DIRECTORIES={made}"
            argv = (*_ENVIRONMENT, alone, *_GIT, *options, str(made / "patch"))
            ended = run(Command(argv, folder, _SECONDS, Confinement((made,), (made,))))
            if ended.status:
                said = _COMPLAINT.search(ended.output)
                return _Failed(mail, said[1].removeprefix("patch failed: ") if said else "git apply fails")
        # What lies there now, symbolic links not followed.
        paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
        names = sorted({*files, *(str(path.relative_to(folder)) for path in paths)})
        usable = (name for name in names if plain(name.encode("utf-8", "surrogateescape")) is not None)
        return {name: read_inside(folder, name, MOST_BYTES) for name in usable}
