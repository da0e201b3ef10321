# SPDX-License-Identifier: GPL-2.0-or-later
"""A series of patches as two versions of a tree: it is applied to copies of the files that it names.

``git apply`` runs in a scratch folder that it cannot leave.

The patches come from a file, of one mail or of a whole mailbox, and are as they were before they went through the mail.
A mail may have parts, encoded for mail, some of which are patches. A mailbox may be hostile, so every reader here takes
each byte a bounded number of times.
"""

from __future__ import annotations

import binascii
import quopri
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from itertools import chain, islice
from pathlib import Path

from linesmith.analyzer.base.child import Command, run
from linesmith.analyzer.base.errors import PatchRefused
from linesmith.analyzer.base.text import listed
from linesmith.analyzer.model import FileChange
from linesmith.patches.build.confinement import Confinement
from linesmith.patches.build.overlay import scratch
from linesmith.patches.revisions.git import is_of_interest, is_of_the_build, plain
from linesmith.patches.revisions.versions import MOST_BYTES, Versions
from linesmith.patches.source.tree import source_bytes

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
_HEADER_BYTES = 1 << 16
# Nobody sends mails with more of them.
_MOST_LEVELS = 8
_MOST_PARTS = 1000
_DIFF = re.compile(rb"^(?:diff --git \S+ \S+$|--- \S[^\n]*\n\+\+\+ \S)", re.MULTILINE)
_BLANK = re.compile(rb"(?:\A|\n)\r?\n")
# Longer values take long to parse, and nobody writes them.
_SAID = re.compile(
    rb"^(Content-(?:Type|Disposition|Transfer-Encoding)):((?:[^\n]|\n[ \t]){1,1000})$", re.MULTILINE | re.IGNORECASE
)
_CLOSING = re.compile(rb"^--([^\n]{1,200}?)--[ \t\r]*$", re.MULTILINE)
_OTHER_MAIL = "message/rfc822"
_NO_TEXT = ("text/html", "text/rtf", "text/calendar")
_MAIL = re.compile(rb"^From \S+ +\w{3} \w{3} +\d{1,2} [\d:]{8} \d{4}$", re.MULTILINE)
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh")
_WIDE = (b"\xff\xfe", b"\xfe\xff")
_MOST_BYTES = 64 << 20
_MOST_MAILS = 10_000


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
    found = ((*_HEADS.findall(mail.text), *chain.from_iterable(_PAIRS.findall(mail.text))) for mail in given)
    heads = list(chain.from_iterable(found))
    strip = int(any(_is_in(root, _behind(head)) for head in heads) or not any(_is_in(root, head) for head in heads))
    paths = [_behind(head) if strip else head for head in heads]
    paths += (path for mail in given for path in _MOVED.findall(mail.text))
    # Whatever else the patches name does not lie next to these when they are applied.
    names = tuple(dict.fromkeys(name for path in paths if path and (name := plain(path)) is not None))
    if not names:
        raise PatchRefused(_no_patch(tree, mails))
    build = sorted(name for name in names if is_of_the_build(name.encode()))
    moved = {name.decode("utf-8", "replace") for mail in given for name in _MOVED.findall(mail.text)}
    # Pictures and the like may come without what it takes to apply them.
    useful = {name for name in names if is_of_interest(name.encode()) or is_of_the_build(name.encode())} | moved
    excluded = (f"--exclude={name}" for name in names if name not in useful)
    files = {name: source_bytes(root, name, MOST_BYTES, links=False) for name in names}
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
        return {name: source_bytes(folder, name, MOST_BYTES, links=False) for name in usable}


class Damaged(ValueError):
    """What was encoded cannot be decoded."""


@dataclass(frozen=True, slots=True)
class MailPart:
    """A mail, or one part of it: what its header says, and the bytes behind that as they were sent."""

    said: Message
    body: bytes

    @property
    def boundary(self) -> bytes | None:
        """What stands between the parts in it; ``None`` where it has none."""
        if self.said.get_content_maintype() != "multipart":
            return None
        found = _parameter(self.said.get_boundary)
        return found.encode("latin-1", "replace") if found else None

    @property
    def is_attached(self) -> bool:
        """Whether it is a file, or another mail, and no text that a reader is shown."""
        is_file = self.said.get_content_disposition() == "attachment" or _parameter(self.said.get_filename) is not None
        return is_file or self.said.get_content_type() == _OTHER_MAIL

    def content(self) -> bytes:
        """The bytes as they were before they were encoded; raises ``Damaged``."""
        encoding = str(self.said.get("Content-Transfer-Encoding", "")).strip().lower()
        try:
            if encoding == "base64":
                return with_own_line_ends(binascii.a2b_base64(self.body))
        except binascii.Error as error:
            raise Damaged(str(error)) from None
        return with_own_line_ends(quopri.decodestring(self.body)) if encoding == "quoted-printable" else self.body


def _parameter(asked: Callable[[], str | None]) -> str | None:
    """What a header says; nothing where it names an encoding in which it cannot be read (RFC 2231)."""
    try:
        return asked()
    except ValueError:
        return None


def part_of(text: bytes) -> MailPart:
    """What a mail or a part of one begins with, and what follows; a text without a header has none."""
    blank = _BLANK.search(text)
    head = text[: blank.start()][:_HEADER_BYTES] if blank else b""
    said = Message()
    for name, value in _SAID.findall(head):
        # What is no ASCII means itself in a header, and no byte is lost.
        said[name.decode()] = b" ".join(value.split()).decode("latin-1")
    return MailPart(said, text[blank.end() :] if blank else text)


def with_own_line_ends(text: bytes) -> bytes:
    """Where every line ends as lines of mail do, that says nothing of the lines in the tree."""
    ends = text.count(b"\n")
    return text.replace(b"\r\n", b"\n") if ends and text.count(b"\r\n") == ends else text


def patches_in(mail: MailPart, levels: int = _MOST_LEVELS) -> tuple[bytes, ...]:
    """The patches that are attached to a mail of several parts, or, where none is, those that its text has.

    Raises ``Damaged``.
    """
    parts = list(islice(_leaves(mail, levels), _MOST_PARTS + 1))
    if len(parts) > _MOST_PARTS:
        raise Damaged(f"it has more than {_MOST_PARTS} parts")
    leaves = [leaf for leaf in parts if leaf.said.get_content_type() not in _NO_TEXT]
    attached = [one for leaf in leaves if leaf.is_attached for one in _patches(leaf, levels)]
    return tuple(attached or (one for leaf in leaves if not leaf.is_attached for one in _patches(leaf, levels)))


def _leaves(part: MailPart, levels: int) -> Iterator[MailPart]:
    """The parts that have no parts themselves, in their order; raises ``Damaged``."""
    if part.boundary is None:
        yield part
        return
    if not levels:
        raise Damaged(f"its parts are nested more than {_MOST_LEVELS} deep")
    start = None
    for line in re.finditer(rb"^--%b(--)?[ \t\r]*(?:\n|\Z)" % re.escape(part.boundary), part.body, re.MULTILINE):
        if start is not None:
            yield from _leaves(part_of(part.body[start : line.start()]), levels - 1)
        start = line.end()
        if line[1]:
            return
    if start is not None:
        yield from _leaves(part_of(part.body[start:]), levels - 1)


def _patches(leaf: MailPart, levels: int) -> tuple[bytes, ...]:
    content = leaf.content()
    if leaf.said.get_content_type() == _OTHER_MAIL and levels:
        inner = part_of(content)
        if inner.boundary is not None:
            return patches_in(inner, levels - 1)
        content = content[: len(content) - len(inner.body)] + inner.content()
    return (content,) if _DIFF.search(content) else ()


@dataclass(frozen=True, slots=True)
class Mail:
    """A patch, and what a reader knows it by."""

    name: str
    text: bytes


def mails_of(name: str, content: bytes) -> tuple[Mail, ...]:
    """The patches of a file, one for each mail in it; raises ``PatchRefused`` for what cannot be read as it is."""
    if len(content) > _MOST_BYTES:
        raise PatchRefused(f"{name} is larger than {_MOST_BYTES >> 20} MiB; give the patch alone")
    if content.startswith(_COMPRESSED):
        raise PatchRefused(f"{name} is compressed; decompress it, '-' is standard input")
    if content.startswith(_WIDE):
        raise PatchRefused(f"{name} is UTF-16, as some shells redirect; let `git format-patch -o DIR` write the file")
    mails = tuple(_mails(name, with_own_line_ends(content)))
    found: list[Mail] = []
    for number, text in enumerate(mails, 1):
        title = name if len(mails) == 1 else f"{name}[{number}]"
        try:
            # The mail without its encoding, or of several parts those that are patches.
            mail = part_of(text)
            whole = mail.boundary is None
            plain = text[: len(text) - len(mail.body)] + mail.content() if whole else text
            patches = (plain,) if whole else patches_in(mail) or (plain,)
        except Damaged as error:
            message = f"{title} is encoded for mail, and damaged ({error}); give the file that git wrote"
            raise PatchRefused(message) from None
        names = [title] if len(patches) == 1 else [f"{title}[{part}]" for part in range(1, len(patches) + 1)]
        found += (Mail(*each) for each in zip(names, patches, strict=True))
    return tuple(found)


def _mails(name: str, text: bytes) -> Iterator[bytes]:
    """The mails of a mailbox; what looks like another one within the parts of a mail is part of it."""
    starts = list(dict.fromkeys((0, *(match.start() for match in _MAIL.finditer(text)))))
    # Where mails of several parts may say that these end, by the boundary that each names.
    ends: dict[bytes, list[int]] = {}
    for line in _CLOSING.finditer(text):
        ends.setdefault(line[1], []).append(line.end())
    mails, behind = [], 0
    for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
        if start >= behind:
            places = ends.get(part_of(text[start:following]).boundary or b"", ())
            at = bisect_right(places, start)
            behind = places[at] if at < len(places) else 0
            mails.append(start)
        if len(mails) > _MOST_MAILS:
            raise PatchRefused(f"{name} has more than {_MOST_MAILS:,} mails; give only those of the series")
    # What stands in front of the first mail, if anything, is one only where it has parts.
    if len(mails) > 1 and not _MAIL.match(text) and part_of(text[: mails[1]]).boundary is None:
        del mails[0]
    for start, end in zip(mails, [*mails[1:], None], strict=True):
        yield text[start:end]
