# SPDX-License-Identifier: GPL-2.0-or-later
"""What an expression does with the pointer, and what its function does with a variable that has taken it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import tree_sitter

from linesmith.analyzer.model import Refusal
from linesmith.patches.treewide.syntax import (
    NULL,
    arguments,
    bare,
    callee,
    compact,
    declared_name,
    enclosing,
    inside,
    operator_of,
    outermost,
    text,
)

# Functions that allocate and free single objects, in the kernel and in the C library.


@dataclass(frozen=True, slots=True)
class Allocator:
    """``size`` is the argument with the bytes, ``count`` the one that they are multiplied by; they count from 0.

    ``cache`` is the argument with the slab cache, ``object`` the one that is an object of the type. ``clears`` tells
    that the bytes are zero; ``flags`` is the argument that may ask for that.
    """

    size: int | None = None
    count: int | None = None
    cache: int | None = None
    object: int | None = None
    clears: bool = False
    flags: int | None = None


ALLOCATORS: dict[str, Allocator] = {
    **{name: Allocator(size=0, flags=1) for name in ("kmalloc", "kmalloc_node", "kvmalloc", "kvmalloc_node")},
    **{name: Allocator(size=0) for name in ("malloc", "vmalloc", "xmalloc", "g_malloc")},
    **{name: Allocator(size=0, clears=True) for name in ("kzalloc", "kzalloc_node", "kvzalloc", "kvzalloc_node")},
    **{name: Allocator(size=0, clears=True) for name in ("vzalloc", "g_malloc0", "xzalloc")},
    **{name: Allocator(object=0, flags=1) for name in ("kmalloc_obj", "kvmalloc_obj")},
    **{name: Allocator(object=0, clears=True) for name in ("kzalloc_obj", "kvzalloc_obj")},
    **{name: Allocator(cache=0, flags=1) for name in ("kmem_cache_alloc", "kmem_cache_alloc_node")},
    "g_new": Allocator(object=0, count=1),
    "g_new0": Allocator(object=0, count=1, clears=True),
    "g_slice_new": Allocator(object=0),
    "g_slice_new0": Allocator(object=0, clears=True),
    "kmem_cache_zalloc": Allocator(cache=0, clears=True),
    **{name: Allocator(size=1, count=0, clears=True) for name in ("calloc", "kcalloc", "kvcalloc", "xcalloc")},
    "aligned_alloc": Allocator(size=1),
    "devm_kmalloc": Allocator(size=1, flags=2),
    "devm_kzalloc": Allocator(size=1, clears=True),
}

# Which argument is the object that is freed.
RELEASES: dict[str, int] = {
    **dict.fromkeys(("kfree", "kvfree", "vfree", "kfree_sensitive", "kzfree", "free", "g_free", "xfree"), 0),
    "kmem_cache_free": 1,
    "devm_kfree": 1,
    "g_slice_free": 1,
}

# Free the object when readers that may still look at it are done.
DEFERRED_RELEASES = frozenset(("kfree_rcu", "kvfree_rcu", "kfree_rcu_mightsleep", "call_rcu"))

# Read or write a pointer that others change at the same time.
PUBLISHERS = frozenset(
    (
        "READ_ONCE", "WRITE_ONCE", "ACCESS_ONCE", "smp_load_acquire", "smp_store_release", "xchg", "cmpxchg",
        "try_cmpxchg", "rcu_dereference", "rcu_dereference_raw", "rcu_dereference_protected", "rcu_dereference_check",
        "rcu_dereference_bh", "rcu_dereference_sched", "rcu_access_pointer", "rcu_assign_pointer",
        "rcu_pointer_handoff", "rcu_replace_pointer", "RCU_INIT_POINTER", "unrcu_pointer",
        "rtnl_dereference", "srcu_dereference", "swap",
        "__atomic_load_n", "__atomic_store_n", "__atomic_exchange_n", "atomic_load", "atomic_store", "atomic_exchange",
    )
)  # fmt: skip

CACHE_CREATORS = ("KMEM_CACHE", "KMEM_CACHE_USERCOPY", "kmem_cache_create", "kmem_cache_create_usercopy")


# What functions are called that end a record.
_ENDING = re.compile(r"(?:\A|_)k?v?(?:free|destroy|release|delete|dispose|put|unref)(?:\Z|_)")
_TRUTH = frozenset(("!", "&&", "||"))
_TESTING = frozenset(("likely", "unlikely", "IS_ERR_OR_NULL", "WARN_ON", "WARN_ON_ONCE", "BUG_ON", "assert"))


class Role(StrEnum):
    """What is done with ``x->p`` at one place; an object in the pointer's place can stand for all but the last."""

    MEMBER = "x->p->f"
    OBJECT = "*x->p"
    VALUE = "x->p"
    ALLOCATION = "x->p = kmalloc()"
    ALLOCATION_CHECK = "if (!x->p) behind the allocation"
    RELEASE = "kfree(x->p)"
    RELEASE_CHECK = "if (x->p) in front of the release"
    CLEARED = "x->p = NULL"
    STANDING = "it stands in the way"


@dataclass(frozen=True, slots=True)
class PointerUse:
    """One place where the pointer is used, in ``function`` (empty outside of all).

    ``holder`` is the record that has it, as written. ``callee`` is the function called with it, ``cache`` the slab
    cache that the object is taken from; each is empty where there is none.
    ``clears``: the object may be all zero. ``refusal`` says what stands in the way.
    """

    file: str
    line: int
    role: Role
    function: str = ""
    holder: str = ""
    callee: str = ""
    cache: str = ""
    clears: bool = False
    refusal: Refusal | None = None

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


def taken_out(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """What shows that ``node`` (``x->p``), which is used as a value, outlives its record: where it is cleared or freed.

    An argument of a call may be freed there: it is taken out when the pointer is cleared behind the call and freed by
    nothing that is seen.
    """
    function = enclosing(node, "function_definition")
    if function is None:
        return None
    above = outermost(node).parent
    cleared = _cleared(node, function)
    if above is None or above.type != "argument_list":
        return cleared or _ended(node, function)
    calls = (call for call in inside(function, "call_expression") if callee(call) in RELEASES)
    freed = any(compact(bare(one)) == compact(node) for call in calls for one in arguments(call))
    return None if cleared is None or cleared.start_byte < node.start_byte or freed else cleared


def _cleared(node: tree_sitter.Node, function: tree_sitter.Node) -> tree_sitter.Node | None:
    """The last assignment of NULL to the member, of whatever record."""
    field = text(node.child_by_field_name("field"))
    last = None
    for one in inside(function, "assignment_expression"):
        left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
        target = bare(left) if left is not None else None
        if target is None or right is None or target.type != "field_expression":
            continue
        if text(target.child_by_field_name("field")) == field and text(bare(right)) in NULL:
            last = one
    return last


def _ended(node: tree_sitter.Node, function: tree_sitter.Node) -> tree_sitter.Node | None:
    """The first call that frees the record."""
    holder = compact(node.child_by_field_name("argument"))
    for call in inside(function, "call_expression"):
        name = callee(call)
        ends = name in RELEASES or name in DEFERRED_RELEASES or _ENDING.search(name) is not None
        if ends and any(compact(bare(one)) == holder for one in arguments(call)):
            return call
    return None


def is_local(function: tree_sitter.Node, name: str) -> bool:
    """Whether the function declares the variable, as a parameter or in its body."""
    declared = (*inside(function, "parameter_declaration"), *inside(function, "declaration"))
    parts = (part for one in declared for part in one.children_by_field_name("declarator"))
    return any(declared_name(part) == name for part in parts)


def stored_in(function: tree_sitter.Node, name: str) -> Iterator[tree_sitter.Node]:
    """What other than a variable the function assigns the variable to."""
    for one in inside(function, "assignment_expression"):
        left, right = one.child_by_field_name("left"), one.child_by_field_name("right")
        if left is not None and right is not None and left.type != "identifier" and compact(bare(right)) == name:
            yield left


def is_tested(node: tree_sitter.Node) -> bool:
    """Whether the expression is asked to be NULL or not, be it as an operand."""
    whole = outermost(node)
    above = whole.parent
    if above is None:
        return False
    operator = operator_of(above)
    if above.type in ("unary_expression", "binary_expression") and operator in _TRUTH:
        return True
    if above.type == "binary_expression" and operator in ("==", "!="):
        return any(text(above.child_by_field_name(side)) in NULL for side in ("left", "right"))
    if above.type == "conditional_expression":
        return above.child_by_field_name("condition") == whole
    if above.type == "argument_list" and above.parent is not None:
        return callee(above.parent) in _TESTING
    return above.type == "parenthesized_expression"
