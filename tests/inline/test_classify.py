# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expression does with the pointer ``p`` of ``x``, which leads to one ``struct foo``."""

from __future__ import annotations

import pytest

from linesmith.analyzer.model import RefusalCode
from linesmith.patches.inline.classify import use_at
from linesmith.patches.inline.syntax import parsed
from linesmith.patches.inline.use import Role, Use
from linesmith.patches.semantic.mentions import mentioned


def uses(statements: str) -> list[Use]:
    """The uses of ``p`` in the body of a function."""
    source = f"void f(struct bar *x, struct foo *q, struct foo *alias)\n{{\n{statements}\n}}\n".encode()
    root = parsed(source)
    return [use_at(root, "f.c", one, ("struct foo", "foo_t")) for one in mentioned("f.c", source, "p")]


def roles(statements: str) -> list[Role]:
    return [use.role for use in uses(statements)]


@pytest.mark.parametrize(
    ("statement", "role"),
    [
        ("x->p->a = 1;", Role.MEMBER),
        ("(x->p)->a = 1;", Role.MEMBER),
        ("lock(&x->y.p->lock);", Role.MEMBER),
        ("copy = *x->p;", Role.OBJECT),
        ("memset(x->p, 0, sizeof(struct foo));", Role.VALUE),
        ("return x->p;", Role.VALUE),
        ("struct foo *alias = x->p;", Role.VALUE),
        ("alias = x->p; alias->a = 1;", Role.VALUE),
        ("x->p = kzalloc(sizeof(*x->p), GFP_KERNEL);", Role.ALLOCATION),
        ("x->p = kmalloc(sizeof(struct foo), GFP_KERNEL);", Role.ALLOCATION),
        ("x->p = calloc(1, sizeof *x->p);", Role.ALLOCATION),
        ("x->p = kmem_cache_alloc(foo_cache, GFP_KERNEL);", Role.ALLOCATION),
        ("x->p = kmemdup(from, sizeof(*from), GFP_KERNEL);", Role.STANDING),
        ("x->p = kmemdup(from, sizeof(struct foo), GFP_KERNEL);", Role.ALLOCATION),
        ("kfree(x->p);", Role.RELEASE),
        ("kmem_cache_free(foo_cache, x->p);", Role.RELEASE),
        ("x->p = NULL;", Role.CLEARED),
    ],
)
def test_one_use_has_one_role(statement: str, role: Role) -> None:
    assert roles(statement)[0] is role


@pytest.mark.parametrize(
    ("statements", "at", "role"),
    [
        ("x->p = kmalloc(sizeof(*x->p), G);\n/* rarely */\nif (!x->p)\n\treturn;", -1, Role.ALLOCATION_CHECK),
        ("x->p = malloc(sizeof(*x->p));\nx->q = malloc(8);\nif (!x->q || !x->p)\n\tgoto o;", -1, Role.ALLOCATION_CHECK),
        ("if (!(x->p = malloc(sizeof(struct foo))))\n\treturn;", 0, Role.ALLOCATION),
        ("if ((x->p = malloc(sizeof(struct foo))))\n\tx->p->a = 1;", 0, Role.STANDING),
        ("if (x->p) {\n\tkfree(x->p);\n\tx->p = NULL;\n}", 0, Role.RELEASE_CHECK),
    ],
    ids=["behind an allocation", "of two at once", "where it is made", "of what is done when it works", "of a release"],
)
def test_a_test_belongs_to_the_allocation_or_release(statements: str, at: int, role: Role) -> None:
    assert roles(statements)[at] is role


@pytest.mark.parametrize(
    ("statement", "code", "reason"),
    [
        ("x->p = y;", RefusalCode.SHARED, "the pointer is set to y, which may be shared"),
        ("y->q = x->p;", RefusalCode.SHARED, "the pointer is kept in y->q too"),
        ("q = x->p; y->q = q;", RefusalCode.SHARED, "the pointer is kept in y->q too, by way of q"),
        ("last = x->p;", RefusalCode.SHARED, "the pointer is kept in last too"),
        ("q = x->p;\nif (!q) f();", RefusalCode.NULL_TEST, "whether the pointer is NULL is asked by way of q, in"),
        ("T l = x->p; return l ? 1 : 0;", RefusalCode.NULL_TEST, "whether the pointer is NULL is asked by way"),
        ("take(&x->p);", RefusalCode.SHARED, "the pointer's own address is taken, so the pointer may be changed"),
        ("if (x->p == y->p) f();", RefusalCode.SHARED, "the pointer is compared (x->p == y->p)"),
        ("x->p = foo_get(y);", RefusalCode.UNKNOWN_ALLOCATION, "the object comes from foo_get(), which is no"),
        ("x->p = kmalloc(64, GFP_KERNEL);", RefusalCode.LARGER, "kmalloc(64, GFP_KERNEL) allocates something else"),
        ("x->p = kcalloc(n, sizeof(*x->p), GFP_KERNEL);", RefusalCode.LARGER, "kcalloc(n, sizeof(*x->p), GFP_KERNEL)"),
        ("x->p[3].a = 1;", RefusalCode.LARGER, "it is indexed, so it may point to an array of objects"),
        ("x->p++;", RefusalCode.LARGER, "the pointer is computed with (x->p++)"),
        ("w = container_of(x->p, struct w, f);", RefusalCode.LARGER, "container_of() shows that the object is part of"),
        ("q = READ_ONCE(x->p);", RefusalCode.PUBLISHED, "READ_ONCE() reads or writes the pointer while others"),
        ("kfree_rcu(x->p, rcu);", RefusalCode.PUBLISHED, "kfree_rcu() frees the object later than the record may be"),
        ("if (x->p) f(x);", RefusalCode.NULL_TEST, "whether the pointer is NULL is asked (x->p)"),
        ("while (x->p && x->p->a) f(x);", RefusalCode.NULL_TEST, "whether the pointer is NULL is asked"),
        ("n = x->p ? x->p->a : 0;", RefusalCode.NULL_TEST, "whether the pointer is NULL is asked"),
    ],
)  # fmt: skip
def test_what_stands_in_the_way_is_said(statement: str, code: RefusalCode, reason: str) -> None:
    use = uses(statement)[0]
    assert use.refusal is not None
    assert (use.refusal.code, use.refusal.place) == (code, "f.c:3")
    assert use.refusal.reason.startswith(reason)


def test_a_use_knows_its_function_its_record_and_its_cache() -> None:
    use = uses("x->y.p = kmem_cache_zalloc(foo_cache, GFP_KERNEL);")[0]
    assert (use.function, use.holder, use.cache, use.callee) == ("f", "x->y", "foo_cache", "kmem_cache_zalloc")


@pytest.mark.parametrize(
    "statements",
    [
        "alias = x->p;\nx->p = NULL;\nreturn alias;",
        "alias = x->p;\nfree(x);\nlock_close(alias);",
        "struct foo *own = x->p;\nbar_put(x);\nlock_close(own);",
        "keep(x->p);\nx->p = NULL;",
        "if (q) {\nx->p = NULL;\n}\nreturn x->p;",
    ],
)
def test_an_object_that_outlives_its_record_stands_in_the_way(statements: str) -> None:
    refusals = [use.refusal for use in uses(statements) if use.refusal is not None]
    assert [one.code for one in refusals] == [RefusalCode.SHARED]
    assert "the object is taken out of its record, which is left in line 4 " in refusals[0].reason


@pytest.mark.parametrize(
    "statements",
    [
        "lock_close(x->p);\nfree(x->p);\nx->p = NULL;",
        "alias = x->p;\nlock_close(alias);",
        "lock_close(x->p);\nfree(x->p);\nfree(x);",
    ],
)
def test_an_object_that_goes_with_its_record_does_not(statements: str) -> None:
    assert not [use for use in uses(statements) if use.refusal is not None]
