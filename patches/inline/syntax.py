# SPDX-License-Identifier: GPL-2.0-or-later
"""C files as tree-sitter-c sees them, for questions about single expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import tree_sitter
import tree_sitter_c

from linesmith.patches.source.macros import without_comments

_TRANSPARENT = frozenset(("parenthesized_expression", "cast_expression"))
# What a pointer that leads nowhere is compared with.
NULL = frozenset(("NULL", "0", "nullptr"))
_CALLED_FOR_TRUTH = frozenset(("likely", "unlikely", "__builtin_expect"))


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))


def parsed(source: bytes) -> tree_sitter.Node:
    """The root of the whole file; text that is no C is held by nodes of type ``ERROR``."""
    return _parser().parse(_closed(source)).root_node


def _closed(source: bytes) -> bytes:
    """The text with blanks for a comment without an end, which the grammar would look for from each of its words."""
    last = source.find(b"/*", source.rfind(b"*/") + 1)
    if last < 0:
        return source
    code = without_comments(source)
    blank = len(code.rstrip())  # a comment without an end goes on to the end of the text
    begin = source.find(b"/*", max(last, blank))
    return source if begin < 0 else source[:begin] + code[begin:]


def text(node: tree_sitter.Node | None) -> str:
    """The source of a node in one line, blanks joined."""
    return " ".join((node.text or b"").decode("utf-8", "replace").split()) if node is not None else ""


def compact(node: tree_sitter.Node | None) -> str:
    """The source of an expression without any blanks, to compare it with another."""
    return "".join(text(node).split())


def member_expression(root: tree_sitter.Node, offset: int) -> tree_sitter.Node | None:
    """The ``x->p`` or ``x.p`` whose member's name begins at ``offset``."""
    leaf = root.descendant_for_byte_range(offset, offset + 1)
    above = leaf.parent if leaf is not None and leaf.type == "field_identifier" else None
    return above if above is not None and above.type == "field_expression" else None


def outermost(node: tree_sitter.Node) -> tree_sitter.Node:
    """The node with the parentheses and casts around it."""
    while node.parent is not None and node.parent.type in _TRANSPARENT and node.parent.type != "if_statement":
        if node.parent.type == "parenthesized_expression" and _is_condition(node.parent):
            break
        node = node.parent
    return node


def bare(node: tree_sitter.Node) -> tree_sitter.Node:
    """The expression within parentheses, casts and ``likely()``/``unlikely()``."""
    while True:
        inner = node.named_children
        if node.type == "parenthesized_expression" and len(inner) == 1:
            node = inner[0]
        elif node.type == "call_expression" and callee(node) in _CALLED_FOR_TRUTH:
            node = arguments(node)[0]
        elif node.type == "cast_expression" and node.child_by_field_name("value") is not None:
            node = node.child_by_field_name("value") or node
        else:
            return node


def callee(call: tree_sitter.Node) -> str:
    """The name of the function or macro that is called; empty for a call through a pointer."""
    function = call.child_by_field_name("function")
    return text(function) if function is not None and function.type == "identifier" else ""


def arguments(call: tree_sitter.Node) -> tuple[tree_sitter.Node, ...]:
    """The arguments of a call, comments left out."""
    found = call.child_by_field_name("arguments")
    return tuple(child for child in found.named_children if child.type != "comment") if found is not None else ()


def enclosing(node: tree_sitter.Node, *kinds: str) -> tree_sitter.Node | None:
    """The nearest node around ``node`` of one of the kinds."""
    above = node.parent
    while above is not None and above.type not in kinds:
        above = above.parent
    return above


def function_name(node: tree_sitter.Node) -> str:
    """The function around the node; empty outside of all."""
    definition = enclosing(node, "function_definition")
    declarator = definition.child_by_field_name("declarator") if definition is not None else None
    while declarator is not None and declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator)


def following(statement: tree_sitter.Node) -> tree_sitter.Node | None:
    """The next statement of the same block, comments left out."""
    after = statement.next_named_sibling
    while after is not None and after.type == "comment":
        after = after.next_named_sibling
    return after


def preceding(statement: tree_sitter.Node) -> tree_sitter.Node | None:
    """The statement in front of this one in the same block, comments left out."""
    before = statement.prev_named_sibling
    while before is not None and before.type == "comment":
        before = before.prev_named_sibling
    return before


def inside(node: tree_sitter.Node, kind: str) -> Iterator[tree_sitter.Node]:
    """All nodes of one kind within ``node``, in the order of the source."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type == kind:
            yield one
        waiting.extend(reversed(one.children))


def _is_condition(node: tree_sitter.Node) -> bool:
    above = node.parent
    statements = ("if_statement", "while_statement", "do_statement", "switch_statement", "for_statement")
    return above is not None and above.type in statements


# Functions that give and take single objects, in the kernel and in the C library.
#
# Sources: include/linux/slab.h, include/linux/device.h, include/linux/vmalloc.h of Linux 6.1 to 6.12; C11 7.22.3; the
# manual of GLib 2.74.


@dataclass(frozen=True, slots=True)
class Allocator:
    """``size`` is the argument with the bytes, ``count`` the one that they are multiplied by; they count from 0.

    ``cache`` is the argument with the slab cache, ``source`` the one with the object that is copied. ``object`` is
    the argument that is an object of the type. ``clears`` tells that the bytes are zero; ``flags`` is the argument that
    may ask for that.
    """

    size: int | None = None
    count: int | None = None
    cache: int | None = None
    source: int | None = None
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
    "kmemdup": Allocator(size=1, source=0),
    "devm_kmemdup": Allocator(size=2, source=1),
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
