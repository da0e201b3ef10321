# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs Coccinelle's ``spatch`` on files of a tree's image: what a semantic patch changes, and where its rules match.

Headers are read for their types, as deep as they include each other, and are changed only when they are named. Lines
that ``spatch`` broke are laid out as a person breaks them. Source: docs/manual of Coccinelle 1.1.1.

In patterns ``$`` stands for the access to a member and ``#`` for the address of the record in front of it. Each is
written for a pointer ``P`` to the record and for the record ``O`` itself; pointers first, for ``O.m`` matches ``P->m``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePosixPath

import msgspec

from linesmith.analyzer.base.child import MOST_OUTPUT, Command, Ended, run
from linesmith.analyzer.base.errors import CommandTimedOut, SemanticPatchFailed
from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.build.confinement import Confinement, toolchain_of
from linesmith.patches.build.kbuild import is_kernel
from linesmith.patches.build.preparation import Progress
from linesmith.patches.series.mails import differing_lines
from linesmith.patches.source.pieces import TAB, width
from linesmith.patches.treewide.image import TreeImage

# Files that one process works on, so that a header they share is parsed once.
_TOGETHER = 8
_SECONDS_PER_FILE = 300
_MOST_OF_A_MESSAGE = 200
_ABOUT_ITSELF = re.compile(r"init_defs|Warning: ")
_MARK = "linesmith-site "
_HEAD = re.compile(r"@[ \t]*(\w+)[^@]*@")
_ReportLine = tuple[str, str, int, int, str, tuple[tuple[str, str], ...]]
_GAVE_UP = re.compile(r"EXN:|Fatal error: exception |.*\bTimeout\b")
_CHECK_SECONDS = 60
# spatch copies files by way of a shell, to which it gives their names as they are.
_SOUND_NAME = re.compile(r"[\w.+,=@][\w.+,=@/-]*", re.ASCII)
# Statements with a body that look like calls; Coccinelle guesses those whose name has "each" in it.
_WITH_BODY = ("guard", "cond_guard", "seqlock_read", "ksimd", "irqdesc")
_ITERATORS = "".join(f"#define scoped_{one} YACFE_ITERATOR\n" for one in _WITH_BODY)
# Columns of a line of source.
_WIDTH = 80
_WAYS = (("P->", "P"), ("O.", "&O"))
_WORD = re.compile(r"\w+")
# Metavariables that every rule may use.
_KINDS = {
    "T": "type T",
    "V": "expression V",
    "VS": "expression list VS",
    "f": "identifier f",
    "A": "assignment operator A",
    "I": "identifier I",
    "IS": "iterator IS",
    "S": "statement S",
}
# Metavariables for whatever has a member of the name.
ANY_RECORD = {"P": "expression P", "O": "expression O"}
# Keywords of SmPL that no member in a rule can be called.
_KEYWORDS = frozenset(("position", "when", "forall", "exists"))


class Types(Enum):
    """Where types are learned from; what a function declares itself is known in any case, and fast."""

    FILE = ("--no-includes",)
    HEADERS = ("--recursive-includes", "--include-headers-for-types")


@dataclass(frozen=True, slots=True)
class SemanticPatch:
    """Rules in SmPL with an empty line between them; a person runs ``text`` alone.

    ``reports`` asks for every place where a rule binds its position ``p``, with the text that these metavariables
    matched: scripts are added for that.
    """

    text: str
    reports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def script(self) -> str:
        """The rules with the scripts that report places, each right behind its rule.

        Placed at the end, they would make ``spatch`` combine the matches of all rules with each other.
        """
        parts: list[str] = []
        for rule in self.text.rstrip("\n").split("\n\n"):
            head = _HEAD.match(rule)
            reported = self.reports.get(head[1]) if head else None
            parts += [rule] if head is None or reported is None else [rule, _reporting(head[1], reported)]
        return "\n\n".join((*parts, ""))


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """Where a rule matched in the file as it was: ``line`` counts from 1, ``column`` from 0.

    ``function`` is the one around it. ``bindings`` gives the C text of each metavariable asked for.
    """

    rule: str
    file: str
    line: int
    column: int
    function: str
    bindings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Spatched:
    """What ``spatch`` did: the changed files lie in the image, ``failed`` are those it gave up on."""

    matches: tuple[RuleMatch, ...]
    failed: tuple[Refusal, ...]


def spatch(
    patch: SemanticPatch, image: TreeImage, files: Sequence[str], progress: Progress, types: Types = Types.HEADERS
) -> Spatched:
    """Run ``patch`` on ``files`` of the image, in place.

    Files with names that a shell would take for more than a name are not passed to it; they count as failed.
    Raises ``ToolMissing`` without Coccinelle, ``SemanticPatchFailed`` when the rules are no SmPL.
    """
    reason = "the name of this file has characters that mean something to a shell, by which spatch copies files"
    lift = "rename the file, or change it by hand"
    odd = [file for file in files if not _SOUND_NAME.fullmatch(file)]
    failed = [Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, lift) for file in odd]
    files = [file for file in files if file not in odd]
    image.make_own(files)
    before = {file: image.read(file) for file in files}
    rules = image.root.parent / "rules.cocci"
    _check(rules, patch.script)
    matches: dict[RuleMatch, None] = {}
    done = 0
    for batch in _batches(files):
        progress(f"spatch: {done} of {len(files)} files done")
        for part, ended in _run(rules, image, batch, types):
            matches.update(dict.fromkeys(_matches(ended.output, image.root, part)))
            reason = _stopped(ended)
            stopped = part if reason else ()
            failed += [Refusal(RefusalCode.NOT_PARSED, f"{file}:1", reason, "change it by hand") for file in stopped]
        done += len(batch)
    for file, content in before.items():
        after = image.read(file)
        if after != content:
            image.put(file, tidy(content, after))
    return Spatched(tuple(matches), tuple(failed))


def _check(rules: Path, script: str) -> None:
    """Write the rules and the macros; raises ``SemanticPatchFailed``."""
    for place, text in ((rules, script), (_macros(rules), _ITERATORS)):
        # Programs can write here too: not through a link that one has put there.
        place.unlink(missing_ok=True)
        place.write_text(text, encoding="utf-8")
    within = Confinement(toolchain_of("spatch"), (rules.parent,))
    ended = run(Command(("spatch", "--parse-cocci", str(rules)), rules.parent, _CHECK_SECONDS, within))
    if ended.status:
        lines = [line.strip() for line in ended.output.splitlines() if not _ABOUT_ITSELF.match(line)]
        said = " ".join(" ".join(lines).replace(str(rules), "rules").split())[:_MOST_OF_A_MESSAGE]
        raise SemanticPatchFailed(f"spatch rejects the semantic patch ({said}); check its names")


def include_folders(tree: Path, file: str) -> tuple[str, ...]:
    """Where headers that ``file`` includes are looked for, relative to ``tree``, first the likeliest."""
    if not is_kernel(tree):
        own = [str(parent) for parent in PurePosixPath(file).parents]
        return tuple(dict.fromkeys(folder for place in own for folder in (place, f"{place}/include")))
    parts = PurePosixPath(file).parts
    named = parts[1] if len(parts) > 2 and parts[0] == "arch" else "x86"
    arch = f"arch/{named if (tree / 'arch' / named / 'include').is_dir() else 'x86'}/include"
    return ("include", arch, f"{arch}/generated", f"{arch}/uapi", "include/uapi")


def _batches(files: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Files in groups that look for headers in the same folders."""
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault("/".join(file.split("/")[:2]) if file.startswith("arch/") else "", []).append(file)
    for group in groups.values():
        yield from (tuple(group[start : start + _TOGETHER]) for start in range(0, len(group), _TOGETHER))


def _run(
    rules: Path, image: TreeImage, files: tuple[str, ...], types: Types
) -> Iterator[tuple[tuple[str, ...], Ended]]:
    """The files in one process; where that gives up, each in a process of its own."""
    ended = _ended(rules, image, files, types)
    if _stopped(ended) and len(files) > 1:
        yield from (((file,), _ended(rules, image, (file,), types)) for file in files)
    else:
        yield files, ended


def _ended(rules: Path, image: TreeImage, files: tuple[str, ...], types: Types) -> Ended:
    folders = [part for folder in include_folders(image.tree, files[0]) for part in ("-I", str(image.root / folder))]
    argv = (
        *("spatch", "--sp-file", str(rules), "--macro-file", str(_macros(rules)), "--very-quiet", "--in-place"),
        # It does not look at TMPDIR.
        *("--temp-files", str(rules.parent)),
        *("--timeout", str(_SECONDS_PER_FILE), "--max-width", str(_WIDTH), *types.value),
        # Without this a file that does not name the record itself is passed over.
        "--disable-worth-trying-opt",
        *folders,
        *(f"{image.root.name}/{file}" for file in files),
    )
    within = Confinement((*image.readable, *toolchain_of("spatch")), (image.root.parent,))
    # It takes options from a .cocciconfig where it runs, so that is not the tree.
    command = Command(argv, rules.parent, _SECONDS_PER_FILE * (len(files) + 1), within)
    try:
        return run(command)
    except CommandTimedOut as error:
        return Ended(command, 1, f"EXN: {error}", command.seconds)


def _macros(rules: Path) -> Path:
    return rules.with_name("macros.h")


def _reporting(rule: str, bindings: Sequence[str]) -> str:
    """A script that prints each match of a rule as one Python literal."""
    names = "\n".join(f"{name} << {rule}.{name};" for name in bindings)
    pairs = "".join(f"({name!r}, str({name}))," for name in bindings)
    place = "int(one.line), int(one.column), one.current_element"
    return (
        f"@script:python@\np << {rule}.p;\n{names}\n@@\n"
        f"for one in p:\n"
        f"  print({_MARK!r} + repr(({rule!r}, one.file, {place}, ({pairs}))))\n"
    )


def _matches(output: str, root: Path, files: Collection[str]) -> Iterator[RuleMatch]:
    """What the scripts printed of the ``files``; text of these can print such lines too, so each is checked."""
    names = {f"{place}/{file}": file for file in files for place in (root.name, root)}
    for line in (line for line in output.splitlines() if line.startswith(_MARK)):
        try:
            report = msgspec.convert(ast.literal_eval(line.removeprefix(_MARK)), _ReportLine)
        except (ValueError, SyntaxError, RecursionError, MemoryError):  # ValueError: another shape, too
            continue
        rule, file, *place = report
        if file in names:
            yield RuleMatch(rule, names[file], *place)


def _stopped(ended: Ended) -> str:
    """Why the files stay as they are: it gave up, or printed more than is kept; empty where it did its work."""
    line = next((line for line in ended.output.splitlines() if _GAVE_UP.match(line)), "")
    line = "it said more than 1 MiB" if len(ended.output) >= MOST_OUTPUT else line
    said = f"spatch gave up on this file ({line[:_MOST_OF_A_MESSAGE] or 'no message'})"
    return said if line or ended.status else ""


def tidy(before: bytes, after: bytes) -> bytes:
    """``after`` with the lines that are not in ``before`` laid out anew; all others stay.

    Tabs stand where the neighbours have them, and arguments fill the lines.
    """
    old_lines, new_lines = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines, position, grown = list[bytes](), 0, False
    for old, new in (*differing_lines(before, after), (range(0), range(len(new_lines), len(new_lines)))):
        same = new_lines[position : new.start]
        if grown and same and lines and (whole := _joined(lines[-1], same[0], aligned=True)):
            lines[-1], same = whole, same[1:]
        lines += same
        gone, come = old_lines[old.start : old.stop], new_lines[new.start : new.stop]
        grown = len(come) > len(gone) > 0
        if any(line.startswith(b"\t") for line in gone):
            # Tabs in place of eight columns of the indentation each.
            texts = [line.lstrip(b" \t") for line in come]
            columns = [width(line[: len(line) - len(text)]) for line, text in zip(come, texts, strict=True)]
            come = [b"\t" * (at // TAB) + b" " * (at % TAB) + text for at, text in zip(columns, texts, strict=True)]
        lines += _filled(come, one=len(gone) == 1) if grown else come
        position = new.stop
    return b"".join(lines)


def _filled(lines: Sequence[bytes], *, one: bool) -> Iterator[bytes]:
    """Arguments that go on one line put there; ``one``: all come from one line, so any break may go."""
    current, depth = lines[0], 0
    for line in lines[1:]:
        opened = depth + current.count(b"(") - current.count(b")")
        if opened > 0 and (whole := _joined(current, line, aligned=not one)):
            current = whole
        else:
            depth = opened
            yield current
            current = line
    yield current


def _joined(line: bytes, following: bytes, *, aligned: bool) -> bytes:
    """Both on one line; empty where they do not fit, or where ``aligned`` asks that they begin in the same column."""
    first, second = (width(one[: len(one) - len(one.lstrip(b" \t"))]) for one in (line, following))
    whole = line.rstrip() + b" " + following.lstrip(b" \t")
    fits = line.rstrip().endswith(b",") and following.strip() and width(whole.rstrip(b"\r\n")) <= _WIDTH
    return whole if fits and (first == second or not aligned) else b""


def named_like(metavariable: str, pattern: str) -> str:
    """The declaration of an identifier whose whole name is like the regular expression."""
    return f'identifier {metavariable} =~ "^({pattern})$"'


@dataclass(frozen=True, slots=True)
class MemberRules:
    """Rules about ``member`` of a record that is called by any of the ``titles``.

    Without ``typed`` the type of what is in front of the member does not matter.
    """

    member: str
    titles: tuple[str, ...]
    typed: bool = True

    def rule(self, name: str, patterns: Sequence[str], where: str = "", **kinds: str) -> str:
        """The rule ``name``, a choice of the patterns at positions ``p`` for which ``where`` holds.

        ``kinds`` are declarations of metavariables by name, besides the usual ones.
        """
        word = "MEMBER" if self.member in {"p", "P", "O", *_KEYWORDS, *_KINDS, *kinds} else self.member
        choice = dict.fromkeys(
            pattern.replace("$", f"{way}{word}").replace("#", holder) for way, holder in _WAYS for pattern in patterns
        )
        body = "\n|\n".join(choice)
        text = f"(\n{body}\n)" if len(choice) > 1 else body
        declarations = _KINDS | self._records() | kinds
        declarations |= {"p": f"position p{where}", "MEMBER": named_like("MEMBER", self.member)}
        # A declaration may use a type that is a metavariable.
        words = set(_WORD.findall(text))
        words |= {word for one in words & declarations.keys() for word in _WORD.findall(declarations[one])}
        lines = [f"{one};" for name, one in declarations.items() if name in words]
        typedefs = [f"typedef {one};" for one in self.titles if " " not in one and one in " ".join(lines)]
        return "\n".join((f"@ {name} @", *typedefs, *lines, "@@", text, ""))

    def _records(self) -> dict[str, str]:
        if not self.typed:
            return ANY_RECORD
        pointers = [f"{one} *" for one in self.titles]
        if len(self.titles) == 1:
            return {"P": f"{pointers[0]}P", "O": f"{self.titles[0]} O"}
        return {"P": f"{{{', '.join(pointers)}}} P", "O": f"{{{', '.join(self.titles)}}} O"}
