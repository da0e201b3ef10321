# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of patches as two versions of a tree: it is applied to copies of the files that it names.

``git apply`` runs in a scratch folder that it cannot leave.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import PatchRefused
from linesmith.analyzer.model import FileChange
from linesmith.patches.child import Command, run
from linesmith.patches.confinement import Confinement
from linesmith.patches.versions.paths import is_of_interest, is_of_the_build, plain, read_inside
from linesmith.patches.versions.versions import MOST_BYTES, Versions

_NAMES = re.compile(
    rb"^(?:(?:---|\+\+\+) [ab]/|(?:rename|copy) (?:from|to) )([^\t\r\n]+)|^diff --git a/(\S+) b/(\S+)$", re.MULTILINE
)
_MAIL = re.compile(rb"^From [0-9a-f]{40,64} Mon Sep 17 00:00:00 2001$", re.MULTILINE)
_ENCODED = re.compile(rb"^Content-Transfer-Encoding:\s*(?:base64|quoted-printable)", re.MULTILINE | re.IGNORECASE)
_HEADER_BYTES = 1 << 16
_MOST_PATCH_BYTES = 64 << 20
_SECONDS = 120
_GIT = ("git", "--no-pager", "apply", "--whitespace=nowarn")
_ENVIRONMENT = (
    "env", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mail:
    """A patch, and what a reader knows it by."""

    name: str
    text: bytes


def mails_of(name: str, content: bytes) -> tuple[Mail, ...]:
    """The patches of a file, one for each mail in it; raises ``PatchRefused`` for what cannot be read as it is."""
    if len(content) > _MOST_PATCH_BYTES:
        raise PatchRefused(f"{name} is larger than {_MOST_PATCH_BYTES >> 20} MiB; give the patch alone")
    starts = [match.start() for match in _MAIL.finditer(content)] or [0]
    texts = [content[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
    for text in texts:
        if _ENCODED.search(text[:_HEADER_BYTES].partition(b"\n\n")[0]):
            raise PatchRefused(f"{name} is encoded for mail; decode it with `git mailinfo`, or give git's own file")
    return tuple(Mail(name if len(texts) == 1 else f"{name}[{number}]", text) for number, text in enumerate(texts, 1))


def patched(tree: Path, mails: Sequence[Mail]) -> Versions:
    """The tree without and with the patches, whether it has them or not.

    Raises ``PatchRefused`` where they apply neither way, or where the tree has them and they change its build.
    """
    root = tree.resolve()
    named = [name for mail in mails for name in _named(mail.text)]
    names = tuple(dict.fromkeys(name for one in named if (name := plain(one)) is not None))
    if not names:
        raise PatchRefused(f"this is no patch of files in {tree}; give one as `git format-patch` writes it")
    now = {name: read_inside(root, name, MOST_BYTES) for name in names}
    build = sorted(name for name in names if is_of_the_build(name.encode()))
    other = _applied(mails, now, ())
    if other is not None:
        return _versions(root, mails, (now, other), build)
    other = _applied(mails[::-1], now, ("--reverse",))
    if other is None:
        message = f"{mails[0].name} applies to {tree} neither forwards nor backwards"
        raise PatchRefused(f"{message}; name the tree it is for with --tree DIR")
    if build:
        message = f"{tree} has {mails[0].name} already, which changes {build[0]} of the build; give the tree without it"
        raise PatchRefused(message)
    return _versions(root, mails, (other, now), build)


def _versions(root: Path, mails: Sequence[Mail], sides: tuple[_Files, _Files], build: Sequence[str]) -> Versions:
    before, after = sides
    names = sorted({*before, *after})
    changes = tuple(
        FileChange(name, before.get(name), after.get(name)) for name in names if is_of_interest(name.encode())
    )
    title = mails[0].name if len(mails) == 1 else f"{mails[0].name} … {mails[-1].name}"
    return Versions(root.name, title, root, changes, tuple(_remarks(build)))


def _remarks(build: Sequence[str]) -> Iterator[str]:
    if build:
        yield (
            f"changed files of the build ({', '.join(build[:3])}{', …' if len(build) > 3 else ''}) were not run: both "
            "versions are compiled as the tree is built"
        )


def _named(text: bytes) -> Iterator[bytes]:
    """The paths that a patch may mean; whatever else it names does not lie beside it when it is applied."""
    for one, first, second in _NAMES.findall(text):
        yield from filter(None, (one, first, second))


_Files = dict[str, bytes | None]


def _applied(mails: Sequence[Mail], files: _Files, options: tuple[str, ...]) -> _Files | None:
    """The files after all patches; ``None`` where one does not apply."""
    with tempfile.TemporaryDirectory(prefix="linesmith-patch-") as made:
        scratch = Path(made).resolve()
        folder = scratch / "tree"
        folder.mkdir()
        for name, content in files.items():
            if content is not None:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(content)
        for mail in mails:
            (scratch / "patch").write_bytes(mail.text)
            alone = f"GIT_CEILING_DIRECTORIES={scratch}"
            argv = (*_ENVIRONMENT, alone, *_GIT, *options, str(scratch / "patch"))
            if run(Command(argv, folder, _SECONDS, Confinement((scratch,), (scratch,)))).status:
                return None
        return dict(_read(folder, files))


def _read(folder: Path, files: _Files) -> Iterator[tuple[str, bytes | None]]:
    """What lies there now, symbolic links not followed."""
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
    for name in sorted({*files, *found}):
        if plain(name.encode("utf-8", "surrogateescape")) is not None:
            yield name, read_inside(folder, name, MOST_BYTES)
