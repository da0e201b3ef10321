# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the file that says what to tune or to benchmark: TOML in, a plan of frozen values out.

Paths in the file are relative to the folder that it lies in.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from linesmith.analyzer.base.errors import PlanError
from linesmith.analyzer.base.toml import TomlError, read_toml, toml_of
from linesmith.analyzer.model import (
    Budget,
    Emulation,
    Evidence,
    Fidelity,
    Recipe,
    Rules,
    Searching,
    Setting,
    Site,
    Step,
    TunePlan,
    Use,
)

# Sizes as people write them: a number of bytes with an optional K, M or G, powers of 1024.

_SIZE = re.compile(r"(\d+)\s*([KMG]?)i?B?", re.IGNORECASE)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}


def byte_size(text: str) -> int:
    """The number of bytes; raises ``ValueError``, whose message says how to write one."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is no size; write 512M or 2G")
    return int(match[1]) << _SHIFTS[match[2].upper()]


_T = TypeVar("_T")
_PLANS = "docs/tuning.md lists what a plan may say"
_MOST_BYTES = 1 << 20
_KBUILD_FILES = ("Kbuild", "Kconfig", "scripts/Kbuild.include")
_OF_A_SITE = ("name", "cpus", "nodes", "memory", "timeout", "overlay")
_OF_A_USE = ("name", "threads", "metric", "guard", "tolerance", "title")


class _Source(msgspec.Struct, forbid_unknown_fields=True):
    tree: str
    builder: str = ""
    configuration: str = ""
    base: str = ""
    command: str = ""
    products: tuple[str, ...] = ()
    compiler: str = ""
    jobs: int = 0
    timeout: int = 3600


class _Site(msgspec.Struct):
    name: str = ""
    cpus: int = 4
    nodes: int = 1
    memory: int | str = "1G"
    timeout: int = 600
    overlay: str = ""


class _Use(msgspec.Struct):
    name: str
    threads: int | tuple[int, ...] = 1
    metric: str = ""
    guard: bool = False
    tolerance: float = 0.02
    title: str = ""


class _Record(msgspec.Struct, forbid_unknown_fields=True):
    profile: str = ""
    elf: str = ""
    command: str = ""
    benchmark: dict[str, Any] = {}
    operations: int = 0
    metric: Literal["", "type", "pair", "misses", "cycles"] = ""
    cpus: int = 0
    nodes: int = 0
    memory: int | str = "512M"
    overlay: str = ""
    append: str = ""
    timeout: int = 900
    emulation: Emulation = Emulation()


class _File(msgspec.Struct, forbid_unknown_fields=True):
    source: _Source
    machine: dict[str, Any] = {}
    benchmark: tuple[dict[str, Any], ...] = ()
    record: _Record | None = None
    search: Searching = Searching()
    judge: Rules = Rules()
    budget: Budget = Budget()


def read_plan(path: Path) -> TunePlan:
    """The plan in the file at ``path``; raises ``PlanError``, which names the file and the place in it."""
    try:
        document = read_toml(path, _MOST_BYTES, "a plan").values
    except OSError as error:
        raise PlanError(f"cannot read the plan {path}: {error.strerror or error}; name a TOML file") from error
    except TomlError as error:
        raise PlanError(str(error)) from error
    try:
        return _plan(document, path.absolute().parent)
    except (msgspec.ValidationError, ValueError) as error:
        raise PlanError(f"{path}: {error}; {_PLANS}") from error
    except PlanError as error:
        raise PlanError(f"{path}: {error}") from error


def plan_in(text: str, folder: Path) -> TunePlan:
    """The plan that ``text`` describes, with paths from ``folder`` on; raises ``PlanError`` or ``ValueError``."""
    return _plan(toml_of(text, "the plan").values, folder)


def _plan(document: Mapping[str, Any], folder: Path) -> TunePlan:
    _refuse_unknown_keys(document)
    given = _converted(document, _File, "")
    recipe = _recipe(given.source, folder)
    site = _site(given.machine, recipe, folder)
    benchmarks = tuple(_use(one) for one in given.benchmark)
    evidence = _evidence(given.record, recipe, benchmarks, folder)
    plan = TunePlan(
        recipe=recipe,
        site=site,
        benchmarks=benchmarks,
        evidence=_on_as_many_cpus(evidence, site) if evidence else None,
        search=given.search,
        rules=given.judge,
        budget=given.budget,
    )
    return _checked(plan)


def _converted(table: Mapping[str, Any], kind: type[_T], place: str) -> _T:
    """The table as a value; raises ``PlanError``, which names the key behind ``place``."""
    try:
        return msgspec.convert(dict(table), kind)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        key = path.rstrip("`").strip(".")
        told = ": ".join(part for part in (place, f"`{key}`" if key else "", said) if part)
        raise PlanError(f"{told}; {_PLANS}") from error


def _refuse_unknown_keys(document: Mapping[str, Any]) -> None:
    """Raise ``PlanError`` for a key of the tables whose values are dataclasses, which take any key in silence."""
    _check_names("the plan has no [{}]", document, [field.name for field in msgspec.structs.fields(_File)])
    record = document.get("record", {})
    emulation = record.get("emulation", {}) if isinstance(record, dict) else {}
    _check_keys("source", document.get("source", {}), [field.name for field in msgspec.structs.fields(_Source)])
    _check_keys("record", document.get("record", {}), [field.name for field in msgspec.structs.fields(_Record)])
    _check_keys("record.emulation", emulation, [field.name for field in fields(Emulation)])
    for name, kind in {"search": Searching, "judge": Rules, "budget": Budget}.items():
        _check_keys(name, document.get(name, {}), [field.name for field in fields(kind)])


def _check_keys(name: str, table: object, known: Sequence[str]) -> None:
    _check_names(f"[{name}] has no `{{}}`", table, known)


def _check_names(complaint: str, table: object, known: Sequence[str]) -> None:
    """Raise ``PlanError`` with ``complaint`` of a name that is none of the ``known``, and the one that may be meant."""
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            near = get_close_matches(key, known, 1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise PlanError(f"{complaint.format(key)}{meant}; it may have {', '.join(known)}")


def _recipe(given: _Source, folder: Path) -> Recipe:
    tree = _path(given.tree, folder)
    if not tree.is_dir():
        raise PlanError(f"[source] tree = {given.tree!r}: {tree} is no directory; name the root of the sources")
    builder = given.builder or ("kbuild" if all((tree / name).is_file() for name in _KBUILD_FILES) else "command")
    if builder == "command" and not (given.command and given.products):
        raise PlanError("[source] needs `command`, which builds the tree, and `products`, the files to keep of it")
    return Recipe(
        builder=builder,
        tree=tree,
        configuration=_path(given.configuration, folder) if given.configuration else None,
        base=given.base,
        command=given.command,
        products=given.products,
        compiler=given.compiler,
        jobs=given.jobs,
        seconds=given.timeout,
    )


def _site(given: Mapping[str, Any], recipe: Recipe, folder: Path) -> Site:
    site = _converted(given, _Site, "[machine]")
    return Site(
        name=site.name or ("qemu" if recipe.builder == "kbuild" else "here"),
        cpus=site.cpus,
        nodes=site.nodes,
        memory=_bytes(site.memory),
        seconds=site.timeout,
        overlay=_path(site.overlay, folder) if site.overlay else None,
        settings=_settings(given, _OF_A_SITE, "machine"),
    )


def _use(given: Mapping[str, Any]) -> Use:
    use = _converted(given, _Use, f"[[benchmark]] {given.get('name', '')}".rstrip())
    threads = (use.threads,) if isinstance(use.threads, int) else use.threads
    if not threads or min(threads) < 1:
        raise PlanError(f"[[benchmark]] {use.name}: `threads` is a number from 1 on, or a list of them")
    return Use(
        benchmark=use.name,
        settings=_settings(given, _OF_A_USE, f"[benchmark]] {use.name}"),
        threads=threads,
        metric=use.metric,
        guard=use.guard,
        tolerance=use.tolerance,
        title=use.title,
    )


def _settings(given: Mapping[str, Any], own: tuple[str, ...], place: str) -> tuple[tuple[str, Setting], ...]:
    """What a plugin gets: all keys that are not our own, lists as tuples of words, a table's keys behind a dot."""
    return tuple((key, _setting(value, f"[{place}] {key}")) for key, value in _flat(given) if key not in own)


def _flat(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", each) for inner, each in value.items())
        else:
            yield key, value


def _setting(value: object, place: str) -> Setting:
    if isinstance(value, list):
        return tuple(map(str, value))
    if isinstance(value, str | int | float | bool):
        return value
    raise PlanError(f"{place} is a table in a table or a date; write a word, a number or a list of words")


def _evidence(given: _Record | None, recipe: Recipe, benchmarks: tuple[Use, ...], folder: Path) -> Evidence | None:
    """What is recorded: as the file says, else the first benchmark that decides."""
    if given is None and not benchmarks:
        return None
    record = given or _Record()
    use = _use(record.benchmark) if record.benchmark else None
    if not record.command and use is None:
        use = next((one for one in benchmarks if not one.guard), None)
    if not (record.profile or record.command or use):
        raise PlanError("[record] needs a `profile`, a `command` or a `benchmark` to find hot lines with")
    return Evidence(
        elf=record.elf or ("vmlinux" if recipe.builder == "kbuild" else Path(recipe.products[0]).name),
        profile=_profile(record.profile, folder) if record.profile else None,
        command=tuple(shlex.split(record.command)),
        use=use,
        operations=record.operations,
        metric=record.metric,
        cpus=record.cpus,
        nodes=record.nodes,
        memory=_bytes(record.memory),
        overlay=_path(record.overlay, folder) if record.overlay else None,
        words=tuple(record.append.split()),
        emulation=record.emulation,
        seconds=record.timeout,
    )


def _profile(given: str, folder: Path) -> Path:
    path = _path(given, folder)
    if not path.is_file():
        raise PlanError(f"[record] profile = {given!r}: there is no file {path}; name one that `record` or perf wrote")
    return path


def _on_as_many_cpus(evidence: Evidence, site: Site) -> Evidence:
    """The guest that is recorded is like the machine of the benchmarks, unless the file says otherwise."""
    return replace(evidence, cpus=evidence.cpus or site.cpus, nodes=evidence.nodes or site.nodes)


def _checked(plan: TunePlan) -> TunePlan:
    """The same plan; raises ``PlanError`` where its parts contradict each other."""
    ladder = plan.search.ladder
    order = [tuple(Fidelity).index(rung) for rung in ladder]
    if order != sorted(set(order)):
        raise PlanError(f"[search] `ladder` lists some of {', '.join(Fidelity)}, each once, in this order")
    if plan.benchmarks and all(use.guard for use in plan.benchmarks):
        raise PlanError("every [[benchmark]] is a guard, so none decides; leave `guard` away from one")
    if Fidelity.BENCHMARK in ladder and not plan.benchmarks:
        raise PlanError("a `benchmark` on the ladder needs a [[benchmark]]")
    if not 0.5 <= plan.rules.confidence < 1:
        raise PlanError("[judge] `confidence` lies between 0.5 and 1; 0.98 is the default")
    if not 2 <= plan.rules.least_blocks <= plan.rules.most_blocks:
        raise PlanError("[judge] `least_blocks` is at least 2 and at most `most_blocks`")
    if plan.site.nodes < 1 or plan.site.cpus < 1 or plan.site.cpus % plan.site.nodes:
        raise PlanError(f"[machine] {plan.site.cpus} CPUs cannot be divided among {plan.site.nodes} nodes")
    _check_ranges(plan)
    return plan


def _check_ranges(plan: TunePlan) -> None:
    """Raise ``PlanError`` for a number that is below what makes sense."""
    least: list[tuple[str, float, float]] = [
        ("[source] `jobs`", plan.recipe.jobs, 0),
        ("[source] `timeout`", plan.recipe.seconds, 1),
        ("[machine] `timeout`", plan.site.seconds, 1),
        ("[search] `confirm`", plan.search.confirm, 1),
        ("[search] `growth`", plan.search.growth, 0),
        ("[judge] `placebos`", plan.rules.placebos, 0),
        ("[judge] `warm_up`", plan.rules.warm_up, 0),
        ("[judge] `smallest`", plan.rules.smallest, 0),
        ("[budget] `trials`", plan.budget.trials, 1),
        ("[budget] `minutes`", plan.budget.minutes, 0.1),
        *((f"[[benchmark]] {use.label}: `tolerance`", use.tolerance, 0) for use in plan.benchmarks),
    ]
    if plan.evidence is not None:
        least += [
            ("[record] `operations`", plan.evidence.operations, 0),
            ("[record] `timeout`", plan.evidence.seconds, 1),
        ]
    for name, value, bound in least:
        if not value >= bound:
            raise PlanError(f"{name} = {value:g} is too little; it is at least {bound:g}")


def _bytes(given: int | str) -> int:
    return given if isinstance(given, int) else byte_size(given)


def _path(given: str, folder: Path) -> Path:
    return (folder / Path(given).expanduser()).absolute()


# ``{name}`` in the words of a command, which stands for a product of the build.

# Behind a `$` it is a variable of a shell, and a number alone says how often in a regular expression.
_NAMED = re.compile(r"(?<!\$)\{(?!\d+\})([\w.+-]+)\}")


def stray(steps: Iterable[Step], products: Collection[str]) -> str | None:
    """What is wrong with the first ``{name}`` that is no product, a sentence without its full stop; else ``None``."""
    words = (word for step in steps for word in step.command)
    unknown = next((name for word in words for name in _NAMED.findall(word) if name not in products), None)
    if unknown is None:
        return None
    known = ", ".join(f"{{{name}}}" for name in products)
    return (
        f"{{{unknown}}} is no product of the build; name one of {known}, or put blanks into braces that mean "
        f"something else: {{ {unknown} }}"
    )
