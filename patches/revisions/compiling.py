# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a file of two versions alike, in a compiler that reaches nothing but the sources.

Both are compiled as the first version is built. Only files are that may declare a record otherwise than before.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path

from linesmith.analyzer.base.errors import CommandTimedOut, Deadline, TreeError, VerificationFailed
from linesmith.analyzer.intent.reading import FILE_NAME
from linesmith.analyzer.layouts.collection import LayoutTable
from linesmith.analyzer.model import FileChange
from linesmith.patches.build.kbuild import for_unit, is_kernel, is_kernel_code, seen_by_compilers
from linesmith.patches.build.options import Flags
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import Probe, compiled_in, probes
from linesmith.patches.matrix.choice import TREE, Environment, program_environment
from linesmith.patches.matrix.kernels import TREE as OWN
from linesmith.patches.matrix.kernels import kernel_environment
from linesmith.patches.revisions.counterparts import Counterpart
from linesmith.patches.revisions.versions import MOST_BYTES, Overlays, Versions
from linesmith.patches.source.declaration import declared, staged_files
from linesmith.patches.source.macros import closings, within, without_comments, without_directives
from linesmith.patches.source.records import (
    MOST_PARENTHESES,
    declaration_end,
    is_obscure,
    is_spelt_otherwise,
    records_named,
)
from linesmith.patches.source.tree import Tree, source_bytes


@dataclass(frozen=True, slots=True)
class BothVersions:
    """The records of a file and of what it includes, in the first version and in the second.

    ``moved`` tells that the first version has the records in another file, or none of them, so that only what ``file``
    itself declares is new. ``remark`` says why the first version is not known, where it was to be.
    """

    file: str
    before: LayoutTable
    after: LayoutTable
    moved: bool = False
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Compiling:
    """How files of the versions are compiled: in an environment, with the changes as ``laid`` out over its tree.

    ``seconds`` gives how many are left for a compile.
    """

    versions: Versions
    environment: Environment
    laid: Overlays
    seconds: Callable[[], float]

    def records(self, probe: Probe, side: int) -> LayoutTable | VerificationFailed:
        """The records of the first version (``side`` 0) or the second one (1), with files as the tree names them.

        What the compiler says where it makes none; raises ``CommandTimedOut``.
        """
        build = self.environment.build
        try:
            found = compiled_in(self.laid.of(build, side), for_unit(build, probe.unit), probe, self.seconds())
        except CommandTimedOut:
            raise
        except VerificationFailed as failed:
            return failed
        original = found.overlay.original
        return LayoutTable(replace(one, file=original(one.file) if one.file else one.file) for one in found.layouts)


def compiled_in_both(how: Compiling, one: Counterpart) -> BothVersions | str:
    """What a compiler makes of a file as it was and as it is; why it can make nothing of either, if so.

    Raises ``VerificationFailed`` where only the second version cannot be compiled, ``CommandTimedOut`` for a compiler
    that does not end in its time.
    """
    versions = how.versions
    if not one.old:
        return _compiled_after(how, one.new, "")
    complaints: list[VerificationFailed] = []
    reason = ""
    for probe, then in _probes(how, one):
        before = how.records(probe, 0)
        if isinstance(before, VerificationFailed):
            reason = reason or str(before)
            continue
        after = how.records(then, 1)
        if isinstance(after, VerificationFailed):
            complaints.append(after)
            continue
        return BothVersions(one.new, before, after, one.old != one.new)
    if complaints:
        raise VerificationFailed(f"in {versions.head}, {complaints[0]}; fix that, so that its layouts can be checked")
    return _compiled_after(how, one.new, f"in {versions.base}, {reason}")


def _probes(how: Compiling, one: Counterpart) -> Iterator[tuple[Probe, Probe]]:
    """Ways to compile the file, as it was and as it is; one that a record has left may include where it is now."""
    for probe in probes(how.environment.build, one.old, "", None):
        yield probe, replace(probe, file=one.new)
    if one.old != one.new and how.versions.after.get(one.old) is not None:
        yield Probe(one.old, ""), Probe(one.old, "")


def _compiled_after(how: Compiling, file: str, reason: str) -> BothVersions | str:
    """What the second version alone shows; ``reason`` says why the first shows nothing, empty where it has no file."""
    for probe in probes(how.environment.build, file, "", None):
        after = how.records(probe, 1)
        if isinstance(after, VerificationFailed):
            reason = reason or f"in {how.versions.head}, {after}"
            continue
        remark = f"{file} was compared with nothing: {reason}" if reason else ""
        return BothVersions(file, LayoutTable(()), after, True, remark)
    return f"{file} was not compiled: {reason}"


_DEFAULTS = {"x86_64": "x86_64", "aarch64": "arm64", "i686": "i386", "ppc64le": "powerpc", "s390x": "s390"}
_TAKES_PATH = ("-include", "-imacros", "-isystem", "-idirafter", "-iquote")

EnvironmentOf = Callable[[str], Environment]


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """What the user says of the compile: ``tree`` with its build directory and options, and the configuration.

    ``configuration`` is a file, ``None`` for the ``.config`` of the build, else of the first version, else what the
    machine's defconfig gives. ``cpus`` is the number of CPUs that slabs are worked out for. Where a ``name`` is given,
    it is that configuration of the matrix instead. ``deadline`` is for everything, make included.
    """

    tree: Tree
    configuration: Path | None
    cpus: int
    name: str = ""
    deadline: Deadline = field(default_factory=Deadline)


def environments(root: Path, recipe: CompileRequest, progress: Progress) -> EnvironmentOf:
    """How a file below ``root``, where the first version lies, is compiled; the answer may raise ``TreeError``.

    One answer serves all files of a kernel.
    """
    sources = Tree(root, recipe.tree.build, recipe.tree.cflags)
    name = "" if recipe.name == OWN else recipe.name

    @lru_cache(maxsize=1)
    def kernel() -> Environment:
        found = kernel_environment(name or _configuration(root, recipe), sources, recipe.cpus, progress)
        own = recipe.tree.root.resolve() / ".config"
        if own.parent == root or recipe.configuration or recipe.tree.build or not own.is_file():
            return found
        unused = f"{own} was not used, because it may be part of the change; --kconfig names a configuration"
        return replace(found, build=replace(found.build, remarks=(*found.build.remarks, unused)))

    @lru_cache(maxsize=1)
    def seen() -> tuple[Path, ...]:
        return seen_by_compilers(sources)

    @cache
    def program(file: str) -> Environment:
        unit = file if file.endswith(".c") else None
        found = program_environment(TREE if is_kernel(root) else name or TREE, sources, seen(), file, unit)
        flags = moved(found.build.flags, recipe.tree.root.resolve(), root)
        return replace(found, build=replace(found.build, flags=flags))

    return lambda file: kernel() if is_kernel_code(root, file) else program(file)


def moved(flags: Flags, old: Path, new: Path) -> Flags:
    """The flags with places below ``old`` looked for below ``new`` first; what is only in ``old`` is generated."""
    return flags if old == new else replace(flags, options=tuple(_moved(flags, old, new)))


def _moved(flags: Flags, old: Path, new: Path) -> Iterator[str]:
    options = iter(flags.options)
    for option in options:
        if option in _TAKES_PATH:
            place = flags.directory / next(options, "")
            image = _image(place, old, new)
            if option in ("-include", "-imacros"):
                yield from (option, str(image or place))
            else:
                yield from (part for one in (image, place) if one for part in (option, str(one)))
        elif option.startswith("-I"):
            place = flags.directory / option[2:]
            yield from (f"-I{one}" for one in (_image(place, old, new), place) if one)
        else:
            yield option


def _image(place: Path, old: Path, new: Path) -> Path | None:
    normal = Path(os.path.normpath(place))
    if not normal.is_relative_to(old):
        return None
    image = new / normal.relative_to(old)
    return image if image.exists() else None


def _configuration(root: Path, recipe: CompileRequest) -> str:
    """The name of the configuration: a file, that of the build or of the first version, or the machine's default."""
    if recipe.configuration:
        return str(recipe.configuration.resolve())
    made = (recipe.tree.build or root).resolve()
    if (made / ".config").is_file():
        return OWN if root == recipe.tree.root.resolve() else str(made / ".config")
    machine = os.uname().machine
    if machine not in _DEFAULTS:
        raise TreeError(f"there is no configuration, and none is known for {machine}; name a file with --kconfig")
    return _DEFAULTS[machine]


# So few names are looked for faster than a text is cut into words.
_FEW_NAMES = 32
_SOURCES = (".h", ".c")
# Each goes as far as it can or is bounded, so that a text without end marks is not read again from each of its words.
_OPENED = re.compile(rb"\b(?:struct|union)\b[^;{}]*+(?P<brace>\{)?")
_DEFINES = re.compile(
    rb"#\s*+define\s++\w++(?:[^\\\n]|\\\n|\\)*+|\benum\b[^;{}]*+(?:\{[^{}]*+\})?+"
    rb"|\btypedef\b(?:[^;{}t]|t(?!ypedef\b))*+|#\s*+pragma[^\n]*+"
)
# Records within so many others are judged as parts of these.
_MOST_LEVELS = 8


def declaring(versions: Versions, intended: Collection[str]) -> tuple[str, ...]:
    """The files that declare a record otherwise than before, or that say how large one is, in their order.

    Where the intents themselves changed, the files of the records ``intended`` follow.
    """
    changed = tuple(change.file for change in versions.changes if _declares(change))
    if FILE_NAME not in versions.after:
        return changed
    found = _files_of(versions.root, intended)
    return tuple(dict.fromkeys((*changed, *(found[name] for name in sorted(found)))))


def _declares(change: FileChange) -> bool:
    if change.before is None or change.after is None or not change.file.endswith(_SOURCES):
        return False
    before, after = without_comments(change.before), without_comments(change.after)
    if before.split() == after.split():
        return False
    (old, _), (new, is_doubtful) = _read(before), _read(after)
    if new - old or (change.file.endswith(".h") and _defined(before) != _defined(after)):
        return True
    return is_doubtful and is_obscure(change.after)


def _read(code: bytes) -> tuple[Counter[bytes], bool]:
    """The texts of the records of a file, and whether there may be more than these."""
    plain = without_directives(code)
    starts = {match.end() - 1: match.start() for match in _OPENED.finditer(plain) if match["brace"]}
    ends = closings(plain, starts)
    texts = (
        b" ".join(code[starts[opening] : declaration_end(plain, end)].split())
        for opening, end in within(ends.items(), _MOST_LEVELS)
    )
    deep = any(code.count(b"(", start, opening) > MOST_PARENTHESES for opening, start in starts.items())
    return Counter(texts), deep or len(ends) < len(starts) or is_spelt_otherwise(plain)


def _defined(code: bytes) -> Counter[bytes]:
    """What a header defines besides records: numbers of elements, types of members."""
    found = (one for one in _DEFINES.findall(code) if not one.startswith(b"enum") or b"{" in one)
    return Counter(b" ".join(one.split()) for one in found)


def _files_of(root: Path, names: Collection[str]) -> dict[str, str]:
    """The first file that declares each record, likely places first; the tree is read once for all of them."""
    left = {name.encode() for name in names}
    found: dict[str, str] = {}
    for file in staged_files(root) if left else ():
        text = source_bytes(root, file, MOST_BYTES, links=False) or b""
        if len(left) <= _FEW_NAMES and not any(name in text for name in left):
            continue
        for name in left & declared(text):
            if records_named(text, name.decode()):
                found[name.decode()] = file
        left.difference_update(name.encode() for name in found)
        if not left:
            break
    return found
