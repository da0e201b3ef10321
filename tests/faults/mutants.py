# SPDX-License-Identifier: GPL-2.0-or-later
"""Faults that nobody chose: one operator or number of a line, changed at a place that is drawn from the whole product.

``faults.toml`` holds slips that somebody thought of; what is drawn here shows how much of the rest the tests see. Some
mutants are no faults, since the program behaves as before: the share that is caught never reaches all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from faults.fault import Fault

_COMPARED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Lt: ast.LtE(),
    ast.LtE: ast.Lt(),
    ast.Gt: ast.GtE(),
    ast.GtE: ast.Gt(),
    ast.Eq: ast.NotEq(),
    ast.NotEq: ast.Eq(),
    ast.In: ast.NotIn(),
    ast.NotIn: ast.In(),
    ast.Is: ast.IsNot(),
    ast.IsNot: ast.Is(),
}
_COMPUTED: dict[type[ast.operator], ast.operator] = {
    ast.Add: ast.Sub(),
    ast.Sub: ast.Add(),
    ast.Mult: ast.FloorDiv(),
    ast.FloorDiv: ast.Mult(),
    ast.BitAnd: ast.BitOr(),
}
# Which tests see a product folder: those of the same name, and those named here.
_TESTS: dict[str, tuple[str, ...]] = {
    "analyzer/attribution": ("find", "access", "perf_data"),
    "analyzer/base": ("unit", "cli_errors", "hostile/test_full_disk.py"),
    "analyzer/cli": ("look", "everyday", "lint", "find", "cli_errors", "line_map"),
    "analyzer/comparison": ("find", "report"),
    "analyzer/doctor": ("everyday",),
    "analyzer/layouts": ("look", "geometry", "elf", "legality"),
    "analyzer/lint": ("lint", "lint_sources", "rules"),
    "analyzer/sharing": ("find", "planted"),
    "analyzer": ("look", "unit", "find", "legality", "tuner"),
    "patches/encapsulation": ("encapsulation",),
    "patches/inline": ("inline",),
    "patches/matrix": ("matrix",),
    "patches/scan": ("scan", "source_scan"),
    "patches/revisions": ("lint_sources", "patches"),
    "patches/series": ("patches",),
    "patches/treewide": ("encapsulation", "inline"),
    "patches": ("patches", "rewriting", "lint_sources", "matrix", "hostile/test_bounds.py"),
    "plugins/benchmarks": ("benchmarks",),
    "plugins/executors": ("tuning", "builders"),
    "plugins/machines": ("machines", "qemu"),
    "plugins/optimizers": ("search", "tuning"),
    "plugins/profiles": ("profiles", "perf_data"),
    "plugins/recording": ("record", "replay", "qemu"),
    "plugins": ("unit", "profiles", "builders"),
    "tuner/constraints": ("tuner", "legality"),
    "tuner/run": ("tuning", "prove"),
    "tuner/space": ("search", "tuner"),
    "tuner": ("tuner", "replay"),
}


def mutants(places: Sequence[tuple[str, Path]], tests: Path, count: int, seed: int) -> list[Fault]:
    """Draw that many mutants of the files (named as in the project, and where they are), one a file.

    The same files and seed give the same mutants; files without a place for one are passed over.
    """
    random = Random(seed)  # noqa: S311 - repeatable, no secret
    drawn: list[Fault] = []
    for name, place in random.sample(list(places), len(places)):
        possible = list(_mutants(name, place.read_text("utf-8"), _tests(name, tests)))
        if possible:
            drawn.append(random.choice(possible))
        if len(drawn) == count:
            break
    return drawn


def _mutants(name: str, text: str, tests: tuple[str, ...]) -> Iterator[Fault]:
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.expr):
            continue
        changed = _changed(node)
        # One line that the file has once, so that the change has its one place.
        if changed is None or node.lineno != node.end_lineno or lines.count(lines[node.lineno - 1]) != 1:
            continue
        line = lines[node.lineno - 1].encode()
        new = (line[: node.col_offset] + changed.encode() + line[node.end_col_offset :]).decode()
        # The line with its ends: it may be a part of a longer one.
        yield Fault(f"{name}:{node.lineno}: {changed}", name, f"\n{line.decode()}\n", f"\n{new}\n", tests)


def _changed(node: ast.expr) -> str | None:
    """The expression with one thing changed, as source; ``None`` where nothing of it is."""
    match node:
        case ast.Compare(left, [one], [right]) if type(one) in _COMPARED:
            return ast.unparse(ast.Compare(left, [_COMPARED[type(one)]], [right]))
        case ast.BinOp(left, one, right) if type(one) in _COMPUTED and not _is_text(left) and not _is_text(right):
            return f"({ast.unparse(ast.BinOp(left, _COMPUTED[type(one)], right))})"
        case ast.BoolOp(one, values):
            return f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(one, ast.And) else ast.And(), values))})"
        case ast.UnaryOp(ast.Not(), operand):
            return f"bool({ast.unparse(operand)})"
    return None


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _tests(name: str, tests: Path) -> tuple[str, ...]:
    folder = next(one for one in (*map(str, Path(name).parents), ".") if one in _TESTS or one.count("/") == 0)
    own = (Path(name).parent.name,)
    found = dict.fromkeys((*own, *_TESTS.get(str(Path(name).parent), _TESTS.get(folder, ()))))
    return tuple(f"tests/{one}" for one in found if (tests / one).exists())
