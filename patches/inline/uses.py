# SPDX-License-Identifier: GPL-2.0-or-later
"""What is done with the pointer at each place, by syntax alone: an object in its place serves, or it stands in the way.

Of a variable that takes the pointer all that its function does with it counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.pointer import PointerUse, Role
from linesmith.patches.treewide.survey import Mention
from linesmith.patches.treewide.syntax import (
    NULL,
    PUBLISHERS,
    arguments,
    assigned_value,
    bare,
    callee,
    compact,
    declared_name,
    enclosing,
    function_name,
    inside,
    line_of,
    member_expression,
    operator_of,
    outermost,
    preceding,
    statements,
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


def _each(names: str, **kind: Any) -> dict[str, Allocator]:  # noqa: ANN401 - the fields of an allocator
    return dict.fromkeys(names.split(), Allocator(**kind))


ALLOCATORS: dict[str, Allocator] = {
    **_each("kmalloc kmalloc_node kvmalloc kvmalloc_node", size=0, flags=1),
    **_each("malloc vmalloc xmalloc g_malloc", size=0),
    **_each("kzalloc kzalloc_node kvzalloc kvzalloc_node vzalloc g_malloc0 xzalloc", size=0, clears=True),
    **_each("kmalloc_obj kvmalloc_obj", object=0, flags=1),
    **_each("kzalloc_obj kvzalloc_obj g_slice_new0", object=0, clears=True),
    **_each("kmem_cache_alloc kmem_cache_alloc_node", cache=0, flags=1),
    **_each("kmem_cache_zalloc", cache=0, clears=True),
    **_each("g_new", object=0, count=1),
    **_each("g_new0", object=0, count=1, clears=True),
    **_each("g_slice_new", object=0),
    **_each("calloc kcalloc kvcalloc xcalloc", size=1, count=0, clears=True),
    **_each("aligned_alloc", size=1),
    **_each("devm_kmalloc", size=1, flags=2),
    **_each("devm_kzalloc", size=1, clears=True),
}

# Which argument is the object that is freed.
RELEASES: dict[str, int] = {
    **dict.fromkeys(("kfree", "kvfree", "vfree", "kfree_sensitive", "kzfree", "free", "g_free", "xfree"), 0),
    **dict.fromkeys(("kmem_cache_free", "devm_kfree", "g_slice_free"), 1),
}

# What functions are called that end a record.
_ENDING = re.compile(r"(?:\A|_)[kvxz]*(?:free|destroy|release|delete|dispose|put|unref)(?:\Z|_)|call_rcu\Z")
_COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
_TESTING = frozenset(
    ("IS_ERR", "IS_ERR_OR_NULL", "PTR_ERR", "likely", "unlikely", "WARN_ON", "WARN_ON_ONCE", "BUG_ON", "assert")
)
_NULL_SAYS = "keep the answer in another member first, or remove the test if the pointer is always set"
_SHARED, _LARGER = RefusalCode.SHARED, RefusalCode.LARGER
_NOT_C = RefusalCode.NOT_C, "the text around it is not plain C", "change it by hand first"
# What no object can replace: by the syntax around the pointer, then by the function that is called with it.
_STANDING: dict[str, tuple[RefusalCode, str]] = {
    "pointer_expression": (_SHARED, "the pointer's own address is taken, so the pointer may be changed"),
    "subscript_expression": (_LARGER, "it is indexed, so it may point to an array of objects"),
    "sizeof_expression": (_SHARED, "sizeof is taken of the pointer, and would be that of the object"),
    **dict.fromkeys(
        ("initializer_pair", "initializer_list"), (_SHARED, "the pointer is stored in what is initialised here")
    ),
    **dict.fromkeys(
        ("unary_expression", "binary_expression", "update_expression"), (_LARGER, "the pointer is computed with ({})")
    ),
    "compared": (_SHARED, "the pointer is compared ({}), so objects may be shared"),
    "": (RefusalCode.NOT_C, "what is done with it is not known ({:.40})"),
}
_ATOMIC = "(try_)?(cmp)?xchg", "(__)?atomic_(load|store|exchange)(_n)?", "swap"
_PUBLISHERS = "|".join((*PUBLISHERS, "rcu_pointer_handoff", "unrcu_pointer", *_ATOMIC))
_LATER = "{}() frees the object later than the record may be freed"
_CALLS = (
    (_PUBLISHERS, RefusalCode.PUBLISHED, "{}() reads or writes the pointer while others change it", ""),
    ("kv?free_rcu|kfree_rcu_mightsleep|call_rcu", RefusalCode.PUBLISHED, _LATER, "free the record in this way too"),
    ("container_of", _LARGER, "{}() shows that the object is part of a larger one", ""),
)


@dataclass(frozen=True, slots=True)
class _PointerAccess:
    """The expression ``node`` (``x->p``), its spelling without blanks, and ``targets``, names of what it points to."""

    node: tree_sitter.Node
    spelled: str
    targets: tuple[str, ...]
    use: PointerUse

    def of_role(self, role: Role) -> PointerUse:
        return replace(self.use, role=role)

    def standing(self, code: RefusalCode, reason: str, lift: str = "") -> PointerUse:
        return replace(self.use, role=Role.STANDING, refusal=Refusal(code, self.use.place, reason, lift))

    def same(self, node: tree_sitter.Node | None) -> bool:
        return node is not None and compact(bare(node)) == self.spelled

    def classified(self) -> PointerUse:
        whole = outermost(self.node)
        above = whole.parent
        kind = above.type if above is not None else ""
        if above is None or kind == "ERROR":
            return self.standing(*_NOT_C)
        if kind == "field_expression":
            # A dot: the object is there already.
            return self.of_role(Role.MEMBER if operator_of(above) == "->" else Role.STANDING)
        if kind in ("assignment_expression", "init_declarator"):
            return self._set(above) if above.child_by_field_name("left") == whole else self._stored(above)
        if is_asked(self.node):
            return self._tested()
        if kind == "argument_list":
            return self._passed(whole, above)
        if kind == "pointer_expression" and operator_of(above) == "*":
            return self.of_role(Role.OBJECT)
        is_index = kind == "subscript_expression" and above.child_by_field_name("argument") != whole
        if is_index or kind in ("return_statement", "conditional_expression"):
            return self.of_role(Role.VALUE)
        compared = kind == "binary_expression" and operator_of(above) in _COMPARISONS
        code, reason = _STANDING.get("compared" if compared else kind, _STANDING[""])
        return self.standing(code, reason.format(text(above)))

    def _stored(self, above: tree_sitter.Node) -> PointerUse:
        """A variable takes the pointer: it must be a local one, not be kept elsewhere, and not be tested for NULL."""
        target = above.child_by_field_name("left") or above.child_by_field_name("declarator")
        name, function = declared_name(target), enclosing(self.node, "function_definition")
        declared = [*inside(function, "parameter_declaration"), *inside(function, "declaration")] if function else []
        if (
            function is None
            or not name
            or name
            not in {declared_name(part) for one in declared for part in one.children_by_field_name("declarator")}
        ):
            lift = "" if name else "make sure that the object is not used there longer than here"
            return self.standing(_SHARED, f"the pointer is also stored in {name or text(target)}", lift)
        for one in inside(function, "assignment_expression"):
            left = one.child_by_field_name("left")
            if left is not None and left.type != "identifier" and compact(assigned_value(one)) == name:
                return self.standing(_SHARED, f"the pointer is also stored in {text(left)}, through {name}")
        test = next((one for one in inside(function, "identifier") if text(one) == name and is_asked(one)), None)
        if test is not None:
            reason = f"the pointer is tested for NULL through {name}, in line {line_of(test)}"
            return self.standing(RefusalCode.NULL_TEST, reason, _NULL_SAYS)
        return self.of_role(Role.VALUE)

    def _set(self, assignment: tree_sitter.Node) -> PointerUse:
        right = assigned_value(assignment)
        statement = outermost(assignment).parent
        alone = statement is not None and statement.type == "expression_statement"
        if text(right) in NULL and alone:
            return self.of_role(Role.CLEARED)
        if right.type != "call_expression":
            reason = f"the pointer is set to {text(right)}, which may be shared"
            lift = "where it is a new object, allocate it into the member first"
            return self.standing(_SHARED, reason, lift)
        allocator = ALLOCATORS.get(callee(right))
        if allocator is None:
            reason = f"the object comes from {callee(right) or text(right)}(), which is no allocator known here"
            return self.standing(RefusalCode.UNKNOWN_ALLOCATION, reason, "allocate it in place first")
        # Else it may only be tested for NULL as the condition of an ``if``.
        if not alone and (_guard(assignment) is None or not _is_negative(assignment)):
            return self.standing(_SHARED, f"the result of {callee(right)}() is also used in the expression")
        return self._allocated(right, allocator)

    def _allocated(self, call: tree_sitter.Node, allocator: Allocator) -> PointerUse:
        passed = arguments(call)
        if not self._is_one_object(passed, allocator):
            reason = f"{text(call)} allocates something else than one {self.targets[0]}"
            return self.standing(_LARGER, reason)
        cache = text(passed[allocator.cache]) if allocator.cache is not None else ""
        # A variable may have the flag too.
        flags = text(passed[allocator.flags]) if allocator.flags is not None and allocator.flags < len(passed) else ""
        clears = "__GFP_ZERO" in flags or any(word.islower() for word in re.findall(r"[A-Za-z_]\w*", flags))
        clears = clears or allocator.clears
        return replace(self.use, role=Role.ALLOCATION, callee=callee(call), cache=cache, clears=clears)

    def _is_one_object(self, passed: tuple[tree_sitter.Node, ...], allocator: Allocator) -> bool:
        needed = (allocator.size, allocator.count, allocator.cache, allocator.object)
        if max(one for one in needed if one is not None) >= len(passed):
            return False
        own, targets = self.spelled, ["".join(target.split()) for target in self.targets]
        if allocator.object is not None:
            return compact(passed[allocator.object]) in (f"*{own}", *targets)
        if allocator.count is not None and text(passed[allocator.count]) != "1":
            return False
        sizes = (f"sizeof(*{own})", f"sizeof*{own}", f"sizeof(*({own}))", *(f"sizeof({target})" for target in targets))
        return allocator.size is None or compact(passed[allocator.size]) in sizes

    def _passed(self, whole: tree_sitter.Node, above: tree_sitter.Node) -> PointerUse:
        call = above.parent
        if call is None or call.type != "call_expression":
            return self.standing(*_NOT_C)
        name, passed = callee(call), arguments(call)
        for pattern, code, reason, lift in _CALLS:
            if re.fullmatch(pattern, name):
                return self.standing(code, reason.format(name), lift)
        if RELEASES.get(name) != passed.index(whole):
            return replace(self.use, role=Role.VALUE, callee=name)
        if call.parent is None or call.parent.type != "expression_statement":
            return self.standing(
                _SHARED, f"{name}() frees the object within an expression", "make it a statement first"
            )
        cache = text(passed[0]) if name == "kmem_cache_free" else ""
        return replace(self.use, role=Role.RELEASE, callee=name, cache=cache)

    def _tested(self) -> PointerUse:
        """A test for NULL: behind the allocation, in front of the release, or one that says something."""
        guard, is_negative = _guard(self.node), _is_negative(self.node)
        if guard is not None and is_negative and self._is_behind_allocation(guard):
            return self.of_role(Role.ALLOCATION_CHECK)
        if guard is not None and not is_negative and self._only_releases(guard):
            return self.of_role(Role.RELEASE_CHECK)
        above = outermost(self.node).parent
        above = above.parent if above is not None and above.type == "argument_list" else above
        reason = f"the pointer is tested for NULL ({text(above and bare(above))[:60]})"
        return self.standing(RefusalCode.NULL_TEST, reason, _NULL_SAYS)

    def _is_behind_allocation(self, guard: tree_sitter.Node) -> bool:
        """Whether an earlier statement of the block allocates the object."""
        before = preceding(guard)
        while before is not None:
            for one in inside(before, "assignment_expression"):
                if self.same(one.child_by_field_name("left")) and callee(assigned_value(one)) in ALLOCATORS:
                    return before.type == "expression_statement"
            before = preceding(before)
        return False

    def _only_releases(self, guard: tree_sitter.Node) -> bool:
        """Whether the branch only frees the object and forgets it, and the condition asks for nothing else."""
        condition, branch = (guard.child_by_field_name(name) for name in ("condition", "consequence"))
        asked = condition and bare(condition)
        if asked is not None and operator_of(asked) == "!=" and text(asked.child_by_field_name("right")) in NULL:
            asked = asked.child_by_field_name("left")
        if branch is None or not self.same(asked):
            return False
        parts = statements(branch) if branch.type == "compound_statement" else [branch]
        return bool(parts) and all(self._frees_or_forgets(one) for one in parts)

    def _frees_or_forgets(self, statement: tree_sitter.Node) -> bool:
        expression = next(iter(statement.named_children), None) if statement.type == "expression_statement" else None
        if expression is None or expression.type != "call_expression":
            left = expression and expression.child_by_field_name("left")
            return expression is not None and self.same(left) and text(assigned_value(expression)) in NULL
        return callee(expression) in RELEASES and any(self.same(one) for one in arguments(expression))

    def outlived(self) -> tree_sitter.Node | None:
        """What shows that the object, which is used as a value, outlives its record: where it is cleared or freed.

        An argument of a call may be freed there: it is taken out when the pointer is cleared behind the call and
        freed by nothing that is seen.
        """
        node, function = self.node, enclosing(self.node, "function_definition")
        if function is None:
            return None
        field, holder = (compact(node.child_by_field_name(name)) for name in ("field", "argument"))
        cleared = None
        for one in inside(function, "assignment_expression"):
            left = one.child_by_field_name("left")
            name = bare(left).child_by_field_name("field") if left is not None else None
            cleared = one if text(name) == field and text(assigned_value(one)) in NULL else cleared
        calls = [(one, {compact(bare(part)) for part in arguments(one)}) for one in inside(function, "call_expression")]
        above = outermost(node).parent
        if above is None or above.type != "argument_list":
            ended = (call for call, passed in calls if holder in passed and _ENDING.search(callee(call)))
            return cleared or next(ended, None)
        freed = any(self.spelled in passed and callee(call) in RELEASES for call, passed in calls)
        return None if cleared is None or cleared.start_byte < node.start_byte or freed else cleared


def use_at(root: tree_sitter.Node, mention: Mention, targets: tuple[str, ...]) -> PointerUse:
    """The use of the pointer that ``mention`` is the name of, in the file of which ``root`` is the syntax."""
    blank = PointerUse(mention.file, mention.line, Role.STANDING)
    node = member_expression(root, mention.offset)
    if node is None:
        code, where = (RefusalCode.IN_MACRO, f"the macro {mention.macro}") if mention.macro else (RefusalCode.NOT_C, "")
        reason = f"it is used in {where or 'text that is not plain C'} (`{mention.text[:60]}`)"
        return replace(blank, refusal=Refusal(code, blank.place, reason, "change it by hand first"))
    use = replace(blank, function=function_name(node), holder=text(node.child_by_field_name("argument")))
    access = _PointerAccess(node, compact(node), targets, use)
    classified = access.classified()
    end = access.outlived() if classified.role is Role.VALUE else None
    if end is None:
        return classified
    reason = f"the object may outlive its record, which ends in line {line_of(end)} ({text(end)[:60]})"
    return access.standing(_SHARED, reason, "make sure that nobody uses the object longer than the record")


def is_asked(node: tree_sitter.Node) -> bool:
    """Whether the expression is asked to be NULL or not, be it as an operand."""
    whole = outermost(node)
    above = whole.parent
    if above is None:
        return False
    if above.type in ("unary_expression", "binary_expression"):
        sides = (above.child_by_field_name("left"), above.child_by_field_name("right"))
        operator = operator_of(above)
        return operator in ("!", "&&", "||") or (operator in _COMPARISONS and any(text(one) in NULL for one in sides))
    if above.type == "argument_list" and above.parent is not None:
        return callee(above.parent) in _TESTING
    if above.type == "conditional_expression":
        return above.child_by_field_name("condition") == whole
    return above.type == "parenthesized_expression"


def _guard(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The ``if`` without ``else`` that ``node`` is the condition of, or one of several alternatives in it."""
    above = node.parent
    while above is not None and above.parent is not None:
        kind = above.type
        if kind == "parenthesized_expression" and above.parent.type == "if_statement":
            return None if above.parent.child_by_field_name("alternative") else above.parent
        passes = kind in ("parenthesized_expression", "argument_list", "assignment_expression")
        if not (passes or operator_of(above) in ("!", "==", "!=", "||") or callee(above) in ("likely", "unlikely")):
            break
        above = above.parent
    return None


def _is_negative(node: tree_sitter.Node) -> bool:
    """Whether ``node`` is asked to be NULL."""
    above = outermost(node).parent
    while above is not None and above.type in ("parenthesized_expression", "argument_list", "call_expression"):
        above = above.parent
    return above is not None and operator_of(above) in ("!", "==")
