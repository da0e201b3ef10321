# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expression does with the pointer ``p`` of ``x``, which leads to one ``struct foo``: ``cases/uses.txt``."""

from __future__ import annotations

from pathlib import Path

from text_cases import text_rows

from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.syntax import parsed
from linesmith.patches.inline.use import Use
from linesmith.patches.semantic.mentions import mentioned


def uses(statements: str) -> list[Use]:
    """The uses of ``p`` in the body of a function."""
    source = f"void f(struct bar *x, struct foo *q, struct foo *alias)\n{{\n{statements}\n}}\n".encode()
    root = parsed(source)
    return [use_at(root, "f.c", one, ("struct foo", "foo_t")) for one in mentioned("f.c", source, "p")]


@text_rows(Path(__file__).with_name("cases") / "uses.txt")
def test_each_use_has_one_role(source: str, expected: list[str]) -> None:
    assert [said(use) for use in uses(source)] == expected


def said(use: Use) -> str:
    """The role, and what stands in the way."""
    refusal = use.refusal
    if refusal is None:
        return use.role.name
    return f"{use.role.name} {refusal.code.name} in line {refusal.place.removeprefix('f.c:')}: {refusal.reason}"


def test_a_use_knows_its_function_its_record_and_its_cache() -> None:
    use = uses("x->y.p = kmem_cache_zalloc(foo_cache, GFP_KERNEL);")[0]
    assert (use.function, use.holder, use.cache, use.callee) == ("f", "x->y", "foo_cache", "kmem_cache_zalloc")
