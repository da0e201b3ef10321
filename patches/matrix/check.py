# SPDX-License-Identifier: GPL-2.0-or-later
"""Compiles a change under every configuration asked for; one that cannot be had is a result with its reason.

What is compiled are the record and those that embed it, before and after the change, alone or through a unit that
includes what declares them; and what they cost in slabs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from math import gcd
from pathlib import Path

from linesmith.analyzer.base.errors import Deadline, DeadlinePassed, LinesmithError, TreeError, VerificationFailed
from linesmith.analyzer.layouts.collection import Layouts
from linesmith.analyzer.layouts.containment import containment_of
from linesmith.analyzer.layouts.gaps import lines, meeting_phases
from linesmith.analyzer.model import CompiledRecord, CompiledSize, ConfigurationCheck, Layout, Residual, SlabCache
from linesmith.analyzer.slab.allocation import Kernel, cache_of, own_cache
from linesmith.patches.build.confinement import compiler_version
from linesmith.patches.build.kbuild import TreeBuild, for_unit, is_kernel_code, seen_by_compilers
from linesmith.patches.build.preparation import Progress
from linesmith.patches.build.probe import Probe, compiled, first_compiled, probes
from linesmith.patches.edit.verify import Located
from linesmith.patches.matrix import choice, kernels
from linesmith.patches.matrix.choice import CheckedChange, Environment, MatrixRequest
from linesmith.patches.matrix.users import CompiledUsers, compiled_users, each
from linesmith.patches.source.declaration import recorded_file
from linesmith.patches.source.tree import Tree

# More records that embed the changed one are only counted; one compile takes about a second.
MOST_HOLDERS = 48


def matrix(tree: Tree, file: str) -> tuple[str, ...]:
    """The configurations that are checked where all are asked for."""
    return kernels.MATRIX if is_kernel_code(tree.root, file) else choice.MATRIX


def names(tree: Tree, file: str) -> tuple[str, ...]:
    """Every configuration that has a name for this tree."""
    return tuple(kernels.RECIPES if is_kernel_code(tree.root, file) else choice.VARIANTS)


def check_names(tree: Tree, file: str, requested: Sequence[str], shown: Path | None = None) -> None:
    """Raise ``TreeError`` for a name that is neither known for a change of ``file`` nor a file.

    ``shown`` is what a reader knows the tree by, where that is not its root.
    """
    known = names(tree, file)
    unknown = [
        one for one in requested if one not in known and not (is_kernel_code(tree.root, file) and Path(one).is_file())
    ]
    if unknown:
        raise TreeError(f"there is no configuration {unknown[0]!r} for {shown or tree.root}; known: {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Tables:
    """The records of one unit, before and after a change."""

    before: Layouts
    after: Layouts


def find(layouts: Layouts, name: str, file: str = "") -> Layout | None:
    """The record called ``name``, that of ``file`` (the end of a path) where several are."""
    found = layouts.variants(name)
    own = [one for one in found if file and one.file and one.file.endswith(file)]
    return next(iter((*own, *found)), None)


class RecordRole(Enum):
    """What a record is to a change. Of one that is ALONE kmalloc() is assumed where no cache is known."""

    ALONE = "allocated by itself"
    HELD = "embedded in others"
    HOLDER = "embeds what is changed"


def compared(
    tables: Tables, name: str, environment: Environment, role: RecordRole, file: str = ""
) -> CompiledRecord | None:
    """The record before and after; ``None`` where it is on neither side."""
    before, after = find(tables.before, name, file), find(tables.after, name, file)
    if before is None and after is None:
        return None
    caches = _cache(before, environment, role), _cache(after, environment, role)
    sizes = _size(before, caches[0], environment), _size(after, caches[1], environment)
    called = next((cache.name for cache in caches if cache), "")
    return CompiledRecord(name, sizes[0], sizes[1], role is RecordRole.HOLDER, called)


def residual(pair: Residual, tables: Tables, name: str, file: str, granules: tuple[int, int]) -> Residual | None:
    """In which share of its possible starts the pair meets; ``None`` where one of both is no member here.

    Objects start at multiples of ``granules`` bytes before and after, or of their alignment where that is less.
    """
    before, after = find(tables.before, name, file), find(tables.after, name, file)
    if before is None or after is None:
        return None
    shares = _share(pair, before, tables.before, granules[0]), _share(pair, after, tables.after, granules[1])
    if shares[0] is None or shares[1] is None:
        return None
    return Residual(pair.first, pair.second, pair.line_bytes, shares[0], shares[1])


def _share(pair: Residual, layout: Layout, layouts: Layouts, granule: int) -> float | None:
    located = Located(layout, layout, layouts)
    first, second = located.span(pair.first), located.span(pair.second)
    if first is None or second is None:
        return None
    return meeting_phases(first, second, pair.line_bytes, gcd(located.granule, granule))


def _size(layout: Layout | None, cache: SlabCache | None, environment: Environment) -> CompiledSize | None:
    if layout is None:
        return None
    alignment = max(layout.natural_alignment, layout.alignment or 1)
    geometry = cache.geometry if cache else None
    objects, pages = (geometry.objects, 1 << geometry.order) if geometry else (0, 0)
    return CompiledSize(layout.size, alignment, lines(layout, environment.line_bytes), objects, pages)


def _cache(layout: Layout | None, environment: Environment, role: RecordRole) -> SlabCache | None:
    if layout is None or environment.slabs is None:
        return None
    kernel = Kernel(environment.slabs)
    return cache_of(layout, kernel) if role is RecordRole.ALONE else own_cache(layout, kernel)


def tables(build: TreeBuild, change: CheckedChange, probes: Sequence[Probe]) -> Tables:
    """What the first of ``probes`` that compiles gives, before and after.

    Raises ``VerificationFailed`` with what the compiler says of the first probe, or of the change.
    """
    probe, before = first_compiled(build, probes, change.before)
    try:
        after = compiled(for_unit(build, probe.unit), probe, change.after)
    except VerificationFailed as failed:
        raise VerificationFailed(f"as patched, {failed}") from None
    return Tables(before.layouts, after.layouts)


@dataclass(frozen=True, slots=True)
class Measured:
    """What a compiler made of the records; ``left_out`` says which could not be had, and why."""

    records: tuple[CompiledRecord, ...]
    residuals: tuple[Residual, ...]
    remarks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def measured(environment: Environment, change: CheckedChange, progress: Progress) -> Measured:
    """Compile and compare; raises ``VerificationFailed`` where the record itself cannot be compiled."""
    build = environment.build
    found = tables(build, change, probes(build, change.file, change.title, change.unit))
    layout = find(found.before, change.record, change.file)
    names = sorted({one.name for one in (containment_of(found.before).holders(layout.id) if layout else ())})
    role = RecordRole.HELD if names or change.holders else RecordRole.ALONE
    own = compared(found, change.record, environment, role, change.file)
    if own is None:
        raise VerificationFailed(f"the compiled {change.file} has no record {change.record}")
    shown = (compared(found, name, environment, RecordRole.HOLDER) for name in names[:MOST_HOLDERS])
    holders, left_out = _elsewhere(environment, change, names, progress)
    others = (compared(found, name, environment, RecordRole.ALONE) for name in change.others)
    pairs = tuple((pair, residual(pair, found, change.record, change.file, change.granules)) for pair in change.pairs)
    absent = tuple(dict.fromkeys(f"{pair.first} or {pair.second} is no member" for pair, seen in pairs if seen is None))
    # Type ids are of one table each, so only what is named counts.
    places = [
        layout and [(it.name, it.declarator, it.offset, it.bit_offset) for it in layout.members]
        for layout in (find(layouts, change.record, change.file) for layouts in (found.before, found.after))
    ]
    remarks = () if None in places or places[0] != places[1] else (f"{change.title} is laid out as before",)
    # Objects lie at multiples of the granules, before and after, where those are known.
    sides = zip((own.before, own.after), change.granules, strict=True)
    steps = [replace(one, step=gcd(one.alignment, granule)) if one and granule else one for one, granule in sides]
    own = replace(own, before=steps[0], after=steps[1])
    records = dict.fromkeys(one for one in (own, *others, *shown, *holders) if one)
    return Measured(tuple(records), tuple(seen for _, seen in pairs if seen), remarks, (*absent, *left_out))


@dataclass(frozen=True, slots=True)
class _CompiledHolders:
    """Holders that were compiled; this configuration does not have those ``absent``. ``failed`` is the error."""

    records: tuple[CompiledRecord, ...]
    absent: tuple[str, ...] = ()
    failed: str = ""


def _elsewhere(
    environment: Environment, change: CheckedChange, names: Sequence[str], progress: Progress
) -> tuple[list[CompiledRecord], tuple[str, ...]]:
    """The holders of the ELF file that are not among ``names``, compiled where they are declared, and remarks."""
    wanted = [one for one in change.holders if one.name not in names]
    room = max(MOST_HOLDERS - len(names), 0)
    declaring = _by_file(environment, wanted[:room])
    # What this build can compile, and the holders that stand in units which it does not have.
    units = _unit_names(environment, progress) if any(file.endswith(".c") for file in declaring) else frozenset()
    out = [file for file in declaring if units and file.endswith(".c") and file not in units]
    built = [(file, holders) for file, holders in declaring.items() if file not in out]
    unbuilt = [holder.name for file in out for holder in declaring[file]]
    elsewhere = each(partial(_compiled, environment, change), built, lambda _: None)
    records = [record for one in elsewhere for record in one.records]
    absent = sorted({*unbuilt, *(name for one in elsewhere for name in one.absent)})
    remarks = [one.failed for one in elsewhere if one.failed]
    if absent:
        remarks.append(f"not in this configuration: {', '.join(absent)}")
    if (left := len(names) + len(wanted) - MOST_HOLDERS) > 0:
        remarks.append(f"{left} more records that embed {change.record} were not compiled")
    return records, tuple(remarks)


def _by_file(environment: Environment, holders: Sequence[Layout]) -> dict[str, list[Layout]]:
    """The holders by the file of the tree that declares them."""
    groups: dict[str, list[Layout]] = {}
    for one in holders:
        file = recorded_file(environment.build.tree, one.file)
        if file is not None:
            groups.setdefault(file, []).append(one)
    return groups


def _unit_names(environment: Environment, progress: Progress) -> frozenset[str]:
    """The units of the build; none where that is not known."""
    try:
        return frozenset(environment.units(progress).names)
    except TreeError:
        return frozenset()


def _compiled(environment: Environment, change: CheckedChange, declared: tuple[str, list[Layout]]) -> _CompiledHolders:
    """The holders that a file declares, compiled through it or a unit that includes it."""
    file, holders = declared
    names = dict.fromkeys(one.name for one in holders)
    try:
        found = tables(environment.build, change, probes(environment.build, file, "", holders[0].unit))
    except VerificationFailed as failed:
        return _CompiledHolders((), failed=f"{', '.join(names)} not compiled: {failed}")
    records = {name: compared(found, name, environment, RecordRole.HOLDER, file) for name in names}
    return _CompiledHolders(
        tuple(record for record in records.values() if record),
        tuple(name for name, record in records.items() if record is None),
    )


def check(
    change: CheckedChange, tree: Tree, request: MatrixRequest, progress: Progress
) -> tuple[ConfigurationCheck, ...]:
    """One result for each name, in their order; ``progress`` gets a line of text before anything slow.

    Raises what ``check_names`` does.
    """
    check_names(tree, _file(change), request.names)
    return tuple(_checked(name, change, tree, request, progress) for name in request.names)


def _checked(
    name: str, change: CheckedChange, tree: Tree, request: MatrixRequest, progress: Progress
) -> ConfigurationCheck:
    recipes = kernels.RECIPES if is_kernel_code(tree.root, _file(change)) else choice.VARIANTS
    title = recipes[name].title if name in recipes else Path(name).name
    deadline = request.deadlines()
    late = ConfigurationCheck(title, failed=deadline.passed, unjudged=(_file(change),))
    progress(f"checking {title}")
    try:
        with deadline.running():
            environment = _environment(name, change, tree, request, progress)
            compiler = compiler_version(environment.build.flags.compiler).partition("\n")[0]
    except DeadlinePassed:
        return late
    except (LinesmithError, OSError) as error:
        return ConfigurationCheck(title, failed=_why(error))
    try:
        with deadline.running():
            found = measured(environment, change, progress) if change.record else Measured((), ())
    except DeadlinePassed:
        return replace(late, compiler=compiler, remarks=environment.build.remarks)
    except (LinesmithError, OSError) as error:
        return ConfigurationCheck(title, compiler, failed=_why(error), remarks=environment.build.remarks)
    users = _users(environment, change, request, deadline, progress)
    return ConfigurationCheck(
        title,
        compiler,
        found.records,
        found.residuals,
        users.units,
        remarks=(*environment.build.remarks, *found.remarks),
        left_out=(*found.left_out, *users.left_out),
        line_bytes=environment.line_bytes,
        unjudged=users.unjudged,
    )


def _users(
    environment: Environment, change: CheckedChange, request: MatrixRequest, deadline: Deadline, progress: Progress
) -> CompiledUsers:
    if request.users == 0:
        return CompiledUsers((), ())
    try:
        return compiled_users(environment, change, request.users, deadline, progress)
    except DeadlinePassed:
        return CompiledUsers((), (f"no object was compiled: {deadline.passed}",), (_file(change),))
    except (LinesmithError, OSError) as error:
        return CompiledUsers((), (f"no object was compiled: {_why(error)}",))


def _file(change: CheckedChange) -> str:
    """The file that the change is known by."""
    return change.file or change.files[0].file


def _why(error: LinesmithError | OSError) -> str:
    """A disk that is full, or a cache that cannot be written, is a reason like others."""
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'} cannot be written or read ({error.strerror or error})"
    return str(error)


def _environment(
    name: str, change: CheckedChange, tree: Tree, request: MatrixRequest, progress: Progress
) -> Environment:
    file = _file(change)
    if not is_kernel_code(tree.root, file):
        return choice.program_environment(name, tree, seen_by_compilers(tree), file, change.unit)
    environment = kernels.kernel_environment(name, tree, request.cpus, progress)
    own = f"arch/{environment.folder}/"
    if file.startswith("arch/") and not file.startswith(own):
        raise VerificationFailed(f"{file} belongs to another machine")
    return environment
