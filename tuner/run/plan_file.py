# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads the file that says what to tune or to benchmark: TOML in, a plan of frozen values out.

Paths in the file are relative to the folder that it lies in, sizes are a number of bytes or text such as ``512M``.
``{name}`` in the words of a command stands for a product of the build.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

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
from linesmith.plugins.settings import nearest

_T = TypeVar("_T")
_PLANS = "docs/tuning.md lists the keys of a plan"
_MOST_BYTES = 1 << 20
_KBUILD_FILES = ("Kbuild", "Kconfig", "scripts/Kbuild.include")
_OF_A_SITE = ("name", "cpus", "nodes", "memory", "timeout", "overlay")
_OF_A_USE = ("name", "threads", "metric", "guard", "tolerance", "title")
# The types that the file takes where the model has one.
_TYPES = {"memory": ("`int`", "`int | str`"), "threads": ("`array`", "`int | array`")}
_PATHS = ("configuration", "overlay", "profile")
_KINDS: Mapping[type, str] = {list: "array", dict: "object"}
_SIZE = re.compile(r"(\d+)\s*([KMG]?)i?B?", re.IGNORECASE)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30}
# Behind a `$` it is a variable of a shell, and a number alone says how often in a regular expression.
_NAMED = re.compile(r"(?<!\$)\{(?!\d+\})([\w.+-]+)\}")


class RecordTable(msgspec.Struct, forbid_unknown_fields=True):
    """The table [record], where 0 and empty texts leave to us what is recorded, and how."""

    profile: Path | None = None
    elf: str = ""
    command: str = ""
    benchmark: dict[str, Any] = {}
    operations: int = 0
    metric: Literal["", "type", "pair", "misses", "cycles"] = ""
    cpus: int = 0
    nodes: int = 0
    memory: int = 512 << 20
    overlay: Path | None = None
    append: str = ""
    seconds: int = 900
    emulation: Emulation = Emulation()


class PlanTables(msgspec.Struct, forbid_unknown_fields=True):
    """The file; what is a mapping here becomes a value of the model by way of its own names and settings."""

    source: dict[str, Any]
    machine: dict[str, Any] = {}
    benchmark: tuple[dict[str, Any], ...] = ()
    record: dict[str, Any] | None = None
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
    tables = _converted(document, PlanTables, folder)
    recipe = _recipe(tables.source, folder)
    own = {key: value for key, value in tables.machine.items() if key in _OF_A_SITE}
    site = _converted({"name": "", **own}, Site, folder, "[machine]")
    name = site.name or ("qemu" if recipe.builder == "kbuild" else "here")
    site = replace(site, name=name, settings=_settings(tables.machine, _OF_A_SITE, "machine"))
    benchmarks = tuple(_use(one, folder) for one in tables.benchmark)
    evidence = _evidence(tables.record, recipe, benchmarks, folder)
    if evidence:  # the guest that is recorded is like the machine of the benchmarks, unless the file says otherwise
        evidence = replace(evidence, cpus=evidence.cpus or site.cpus, nodes=evidence.nodes or site.nodes)
    plan = TunePlan(recipe, site, benchmarks, evidence, tables.search, tables.judge, tables.budget)
    _check(plan)
    return plan


def _converted(table: Mapping[str, Any], kind: type[_T], folder: Path, place: str = "", table_name: str = "") -> _T:
    """The table as a value; raises ``PlanError``, which names the key behind ``place``.

    Keys are called as in the file; a path that is an empty text is left out.
    """

    def path_of(_: type, value: object) -> Path:
        if not isinstance(value, str):
            raise TypeError(f"Expected `str`, got `{_KINDS.get(type(value), type(value).__name__)}`")
        return (folder / Path(value).expanduser()).absolute()

    fields = {"timeout": "seconds"} | ({"name": "benchmark"} if kind is Use else {})
    named = {fields.get(key, key): value for key, value in table.items() if value != "" or key not in _PATHS}
    if isinstance(size := named.get("memory"), str):
        named["memory"] = byte_size(size)
    try:
        return msgspec.convert(named, kind, dec_hook=path_of)
    except msgspec.ValidationError as error:
        said, _, path = str(error).partition(" - at `$")
        key = path.rstrip("`").strip(".")
        for name, field in fields.items():
            key, said = name if key == field else key, said.replace(f"field `{field}`", f"field `{name}`")
        key = ".".join(filter(None, (table_name, key)))
        parts = (place, f"`{key}`" if key else "", said.replace(*_TYPES.get(key.rpartition(".")[2], ("", ""))))
        raise PlanError(f"{': '.join(filter(None, parts))}; {_PLANS}") from error


def _refuse_unknown_keys(document: Mapping[str, Any]) -> None:
    """Raise ``PlanError`` for a key of the tables whose values are dataclasses, which take any key in silence."""
    _check_names("the plan has no [{}]", document, PlanTables)
    record = document.get("record", {})
    emulation = record.get("emulation", {}) if isinstance(record, dict) else {}
    tables = {"source": Recipe, "record": RecordTable, "search": Searching, "judge": Rules, "budget": Budget}
    for name, kind in tables.items():
        _check_names(f"[{name}] has no `{{}}`", document.get(name, {}), kind)
    _check_names("[record.emulation] has no `{}`", emulation, Emulation)


def _check_names(complaint: str, table: object, kind: type) -> None:
    """Raise ``PlanError`` with ``complaint`` of a name that the ``kind`` has not, and the one that may be meant."""
    known = ["timeout" if name == "seconds" else name for name in get_type_hints(kind)]
    known.sort(key="tree".__ne__)  # what a plan must have comes first
    for key in table if isinstance(table, dict) else ():
        if key not in known:
            raise PlanError(f"{complaint.format(key)}{nearest(key, known)}; it may have {', '.join(known)}")


def _recipe(table: Mapping[str, Any], folder: Path) -> Recipe:
    recipe = _converted({"builder": "", **table}, Recipe, folder, table_name="source")
    tree = recipe.tree
    if not tree.is_dir():
        raise PlanError(f"[source] tree = {table['tree']!r}: {tree} is not a directory; name the root of the sources")
    builder = recipe.builder or ("kbuild" if all((tree / name).is_file() for name in _KBUILD_FILES) else "command")
    if builder == "command" and not (recipe.command and recipe.products):
        raise PlanError("[source] needs `command`, which builds the tree, and `products`, the files to keep of it")
    return replace(recipe, builder=builder)


def _use(table: Mapping[str, Any], folder: Path) -> Use:
    own = {key: value for key, value in table.items() if key in _OF_A_USE}
    if isinstance(threads := own.get("threads"), int) and not isinstance(threads, bool):
        own["threads"] = (threads,)
    use = _converted(own, Use, folder, f"[[benchmark]] {table.get('name', '')}".rstrip())
    if not use.threads or min(use.threads) < 1:
        raise PlanError(f"[[benchmark]] {use.benchmark}: `threads` must be a number >= 1, or a list of numbers")
    return replace(use, settings=_settings(table, _OF_A_USE, f"[benchmark]] {use.benchmark}"))


def _settings(given: Mapping[str, Any], own: tuple[str, ...], place: str) -> tuple[tuple[str, Setting], ...]:
    """What a plugin gets: all keys that are not our own, lists as tuples of words, a table's keys behind a dot."""
    settings: dict[str, Setting] = {}
    for key, value in given.items():
        named = {f"{key}.{inner}": each for inner, each in value.items()} if isinstance(value, dict) else {key: value}
        for name, each in named.items() if key not in own else ():
            if not isinstance(each, list | str | int | float | bool):
                raise PlanError(f"[{place}] {name} is a table in a table or a date; write a word, a number or a list")
            settings[name] = tuple(map(str, each)) if isinstance(each, list) else each
    return tuple(settings.items())


def _evidence(
    table: Mapping[str, Any] | None, recipe: Recipe, benchmarks: tuple[Use, ...], folder: Path
) -> Evidence | None:
    """What is recorded: as the file says, else the first benchmark that decides."""
    if table is None and not benchmarks:
        return None
    record = _converted(table or {}, RecordTable, folder, table_name="record")
    use = _use(record.benchmark, folder) if record.benchmark else None
    if not record.command and use is None:
        use = next((one for one in benchmarks if not one.guard), None)
    if not (record.profile or record.command or use):
        raise PlanError("[record] needs a `profile`, a `command` or a `benchmark` to find hot lines with")
    if record.profile and not record.profile.is_file():
        given = (table or {})["profile"]
        raise PlanError(
            f"[record] profile = {given!r}: there is no file {record.profile}; name one that `record` or perf wrote"
        )
    return Evidence(
        elf=record.elf or ("vmlinux" if recipe.builder == "kbuild" else Path(recipe.products[0]).name),
        profile=record.profile,
        command=tuple(shlex.split(record.command)),
        use=use,
        operations=record.operations,
        metric=record.metric,
        cpus=record.cpus,
        nodes=record.nodes,
        memory=record.memory,
        overlay=record.overlay,
        words=tuple(record.append.split()),
        emulation=record.emulation,
        seconds=record.seconds,
    )


def _check(plan: TunePlan) -> None:
    """Raises ``PlanError`` where its parts contradict each other."""
    ladder = plan.search.ladder
    order = [tuple(Fidelity).index(rung) for rung in ladder]
    if order != sorted(set(order)):
        raise PlanError(f"[search] `ladder` lists some of {', '.join(Fidelity)}, each once, in this order")
    if plan.benchmarks and all(use.guard for use in plan.benchmarks):
        raise PlanError("every [[benchmark]] is a guard, so none decides; remove `guard` from one")
    if Fidelity.BENCHMARK in ladder and not plan.benchmarks:
        raise PlanError("a `benchmark` on the ladder needs a [[benchmark]]")
    if not 0.5 <= plan.rules.confidence < 1:
        raise PlanError("[judge] `confidence` must be between 0.5 and 1; the default is 0.98")
    if not 2 <= plan.rules.least_blocks <= plan.rules.most_blocks:
        raise PlanError("[judge] `least_blocks` is at least 2 and at most `most_blocks`")
    if plan.site.nodes < 1 or plan.site.cpus < 1 or plan.site.cpus % plan.site.nodes:
        raise PlanError(f"[machine] {plan.site.cpus} CPUs cannot be divided among {plan.site.nodes} nodes")
    _check_ranges(plan)


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
            raise PlanError(f"{name} = {value:g} is too small; the minimum is {bound:g}")


def stray(steps: Iterable[Step], products: Collection[str]) -> str | None:
    """What is wrong with the first ``{name}`` that is no product, a sentence without its full stop; else ``None``."""
    words = (word for step in steps for word in step.command)
    unknown = next((name for word in words for name in _NAMED.findall(word) if name not in products), None)
    if unknown is None:
        return None
    known = ", ".join(f"{{{name}}}" for name in products)
    return (
        f"{{{unknown}}} is not a product of the build; name one of {known}, or put blanks into other braces: {{"
        f" {unknown} }}"
    )


def byte_size(text: str) -> int:
    """The number of bytes; raises ``ValueError``, whose message says how to write one."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text!r} is not a size; write 512M or 2G")
    return int(match[1]) << _SHIFTS[match[2].upper()]
