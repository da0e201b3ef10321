# SPDX-License-Identifier: GPL-2.0-or-later
"""Says for one expression what it does with the pointer, from its syntax alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.uses import (
    ALLOCATORS,
    DEFERRED_RELEASES,
    PUBLISHERS,
    RELEASES,
    Allocator,
    PointerUse,
    Role,
    is_local,
    is_tested,
    stored_in,
    taken_out,
)
from linesmith.patches.treewide.mentions import Mention
from linesmith.patches.treewide.syntax import (
    NULL,
    arguments,
    assigned_value,
    bare,
    callee,
    compact,
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

_NULL_SAYS = "keep the answer in another member first, or remove the test if the pointer is always set"
_COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
_TESTING = ("IS_ERR", "IS_ERR_OR_NULL", "PTR_ERR", "unlikely", "likely", "WARN_ON", "WARN_ON_ONCE", "BUG_ON")


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


def use_at(root: tree_sitter.Node, file: str, mention: Mention, targets: tuple[str, ...]) -> PointerUse:
    """The use of the pointer that ``mention`` is the name of, in the file that ``root`` is the syntax of."""
    blank = PointerUse(file, mention.line, Role.STANDING)
    node = member_expression(root, mention.offset)
    if node is None:
        code, where = (RefusalCode.IN_MACRO, f"the macro {mention.macro}") if mention.macro else (RefusalCode.NOT_C, "")
        reason = f"it is used in {where or 'text that is not plain C'} (`{mention.text[:60]}`)"
        return replace(blank, refusal=Refusal(code, blank.place, reason, "change it by hand first"))
    use = replace(blank, function=function_name(node), holder=text(node.child_by_field_name("argument")))
    access = _PointerAccess(node, compact(node), targets, use)
    classified = _classified(access)
    end = taken_out(node) if classified.role is Role.VALUE else None
    if end is None:
        return classified
    reason = f"the object may outlive its record, which ends in line {line_of(end)} ({text(end)[:60]})"
    return access.standing(RefusalCode.SHARED, reason, "make sure that nobody uses the object longer than the record")


def _classified(access: _PointerAccess) -> PointerUse:
    whole = outermost(access.node)
    above = whole.parent
    kind = above.type if above is not None else ""
    if above is None or kind == "ERROR":
        return access.standing(RefusalCode.NOT_C, "the text around it is not plain C", "change it by hand first")
    if kind == "field_expression":
        return access.of_role(Role.MEMBER)
    if kind == "pointer_expression":
        if operator_of(above) == "*":
            return access.of_role(Role.OBJECT)
        reason = "the pointer's own address is taken, so the pointer may be changed"
        return access.standing(RefusalCode.SHARED, reason)
    if kind == "subscript_expression":
        if above.child_by_field_name("argument") != whole:
            return access.of_role(Role.VALUE)
        return access.standing(RefusalCode.LARGER, "it is indexed, so it may point to an array of objects")
    if kind in ("assignment_expression", "init_declarator"):
        return _assigned(access, whole, above)
    if kind == "argument_list":
        return _passed(access, whole, above)
    if kind in ("unary_expression", "binary_expression", "update_expression", "sizeof_expression"):
        return _computed(access, above)
    return _others(access, whole, above)


def _assigned(access: _PointerAccess, whole: tree_sitter.Node, above: tree_sitter.Node) -> PointerUse:
    if above.child_by_field_name("left") == whole:
        return _set(access, above)
    target = above.child_by_field_name("left") or above.child_by_field_name("declarator")
    if above.type == "init_declarator" or (target is not None and target.type == "identifier"):
        return _alias(access, target)
    reason = f"the pointer is also stored in {text(target)}"
    return access.standing(RefusalCode.SHARED, reason, "make sure that the object is not used there longer than here")


def _alias(access: _PointerAccess, target: tree_sitter.Node | None) -> PointerUse:
    """A variable takes the pointer: it must be a local one, not be kept elsewhere, and not be tested for NULL."""
    name = text(next(inside(target, "identifier"), target)) if target is not None else ""
    function = enclosing(access.node, "function_definition")
    if function is None or not is_local(function, name):
        return access.standing(RefusalCode.SHARED, f"the pointer is also stored in {name or text(target)}")
    other = next(stored_in(function, name), None)
    if other is not None:
        return access.standing(RefusalCode.SHARED, f"the pointer is also stored in {text(other)}, through {name}")
    test = next((one for one in inside(function, "identifier") if text(one) == name and is_tested(one)), None)
    if test is not None:
        reason = f"the pointer is tested for NULL through {name}, in line {line_of(test)}"
        return access.standing(RefusalCode.NULL_TEST, reason, _NULL_SAYS)
    return access.of_role(Role.VALUE)


def _set(access: _PointerAccess, assignment: tree_sitter.Node) -> PointerUse:
    right = assigned_value(assignment)
    statement = outermost(assignment).parent
    if text(right) in NULL and statement is not None and statement.type == "expression_statement":
        return access.of_role(Role.CLEARED)
    if right.type != "call_expression":
        reason = f"the pointer is set to {text(right)}, which may be shared"
        lift = "where it is a new object, allocate it into the member first"
        return access.standing(RefusalCode.SHARED, reason, lift)
    allocator = ALLOCATORS.get(callee(right))
    if allocator is None:
        reason = f"the object comes from {callee(right) or text(right)}(), which is no allocator known here"
        return access.standing(RefusalCode.UNKNOWN_ALLOCATION, reason, "allocate it in place first")
    if statement is None or statement.type != "expression_statement":
        # Else it may only be tested for NULL as the condition of an ``if``.
        test = _test_around(assignment) if statement is not None else None
        if test is None or _guarded(test) is None or not _is_negative(assignment):
            reason = f"the result of {callee(right)}() is also used in the expression"
            return access.standing(RefusalCode.SHARED, reason)
    return _allocated(access, right, allocator)


def _allocated(access: _PointerAccess, call: tree_sitter.Node, allocator: Allocator) -> PointerUse:
    passed = arguments(call)
    if not _is_one_object(access, passed, allocator):
        reason = f"{text(call)} allocates something else than one {access.targets[0]}"
        return access.standing(RefusalCode.LARGER, reason)
    cache = text(passed[allocator.cache]) if allocator.cache is not None else ""
    clears = allocator.clears
    if not clears and allocator.flags is not None and allocator.flags < len(passed):
        # A variable may have the flag too.
        flags = text(passed[allocator.flags])
        clears = "__GFP_ZERO" in flags or any(word.islower() for word in re.findall(r"[A-Za-z_]\w*", flags))
    return replace(access.use, role=Role.ALLOCATION, callee=callee(call), cache=cache, clears=clears)


def _is_one_object(access: _PointerAccess, passed: tuple[tree_sitter.Node, ...], allocator: Allocator) -> bool:
    needed = (allocator.size, allocator.count, allocator.cache, allocator.object)
    if max((one for one in needed if one is not None), default=0) >= len(passed):
        return False
    own, targets = access.spelled, ["".join(target.split()) for target in access.targets]
    if allocator.object is not None:
        return compact(passed[allocator.object]) in (f"*{own}", *targets)
    if allocator.count is not None and text(passed[allocator.count]) != "1":
        return False
    sizes = (f"sizeof(*{own})", f"sizeof*{own}", f"sizeof(*({own}))", *(f"sizeof({target})" for target in targets))
    return allocator.size is None or compact(passed[allocator.size]) in sizes


def _passed(access: _PointerAccess, whole: tree_sitter.Node, above: tree_sitter.Node) -> PointerUse:
    call = above.parent
    if call is None or call.type != "call_expression":
        return access.standing(RefusalCode.NOT_C, "the text around it is not plain C", "change it by hand first")
    name = callee(call)
    index = next((at for at, one in enumerate(arguments(call)) if one == whole), -1)
    if name in PUBLISHERS:
        reason = f"{name}() reads or writes the pointer while others change it"
        return access.standing(RefusalCode.PUBLISHED, reason)
    if name in DEFERRED_RELEASES:
        reason = f"{name}() frees the object later than the record may be freed"
        return access.standing(RefusalCode.PUBLISHED, reason, "free the record in this way too")
    if name == "container_of":
        return access.standing(RefusalCode.LARGER, "container_of() shows that the object is part of a larger one")
    if RELEASES.get(name) == index and call.parent is not None and call.parent.type == "expression_statement":
        cache = text(arguments(call)[0]) if name == "kmem_cache_free" else ""
        return replace(access.use, role=Role.RELEASE, callee=name, cache=cache)
    if name in _TESTING:
        return _tested(access, call)
    return replace(access.use, role=Role.VALUE, callee=name)


def _computed(access: _PointerAccess, above: tree_sitter.Node) -> PointerUse:
    operator = operator_of(above)
    if operator == "!" or operator in ("&&", "||"):
        return _tested(access, above)
    if operator in _COMPARISONS:
        sides = (above.child_by_field_name("left"), above.child_by_field_name("right"))
        if any(text(one) in NULL for one in sides):
            return _tested(access, above)
        reason = f"the pointer is compared ({text(above)}), so objects may be shared"
        return access.standing(RefusalCode.SHARED, reason)
    if above.type == "sizeof_expression":
        return access.standing(RefusalCode.SHARED, "sizeof is taken of the pointer, and would be that of the object")
    return access.standing(RefusalCode.LARGER, f"the pointer is computed with ({text(above)})")


def _others(access: _PointerAccess, whole: tree_sitter.Node, above: tree_sitter.Node) -> PointerUse:
    if above.type == "return_statement":
        return access.of_role(Role.VALUE)
    if above.type == "conditional_expression" and above.child_by_field_name("condition") != whole:
        return access.of_role(Role.VALUE)
    if above.type in ("parenthesized_expression", "conditional_expression"):
        return _tested(access, above)
    if above.type in ("initializer_pair", "initializer_list"):
        reason = "the pointer is stored in what is initialised here"
        return access.standing(RefusalCode.SHARED, reason)
    return access.standing(RefusalCode.NOT_C, f"what is done with it is not known ({text(above)[:40]})")


def _tested(access: _PointerAccess, above: tree_sitter.Node) -> PointerUse:
    """A test for NULL: behind the allocation, in front of the release, or one that says something."""
    guard = _guarded(_test_around(access.node) or above)
    if guard is not None and _is_negative(access.node) and _is_behind_allocation(access, guard):
        return access.of_role(Role.ALLOCATION_CHECK)
    if guard is not None and not _is_negative(access.node) and _only_releases(access, guard):
        return access.of_role(Role.RELEASE_CHECK)
    reason = f"the pointer is tested for NULL ({text(bare(above))[:60]})"
    return access.standing(RefusalCode.NULL_TEST, reason, _NULL_SAYS)


def _test_around(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The whole condition that ``node`` is the only, or one of several alternative parts of."""
    while node.parent is not None:
        above = node.parent
        kind = above.type
        heads = above.parent is not None and above.parent.type == "if_statement" and kind == "parenthesized_expression"
        passes = (
            (kind == "parenthesized_expression" and not heads)
            or kind in ("argument_list", "assignment_expression")
            or (kind == "call_expression" and callee(above) in ("likely", "unlikely"))
        )
        if kind in ("unary_expression", "binary_expression"):
            passes = operator_of(above) in ("!", "==", "!=", "||")
        if not passes:
            return above if heads else None
        node = above
    return None


def _guarded(condition: tree_sitter.Node) -> tree_sitter.Node | None:
    """The ``if`` that has this condition and no ``else``."""
    statement = condition.parent
    if statement is None or statement.type != "if_statement" or statement.child_by_field_name("alternative"):
        return None
    return statement


def _is_negative(node: tree_sitter.Node) -> bool:
    """Whether ``node`` is asked to be NULL."""
    above = outermost(node).parent
    while above is not None and above.type in ("parenthesized_expression", "argument_list", "call_expression"):
        above = above.parent
    return above is not None and operator_of(above) in ("!", "==")


def _is_behind_allocation(access: _PointerAccess, guard: tree_sitter.Node) -> bool:
    """Whether an earlier statement of the block allocates the object, or the condition itself does."""
    before = preceding(guard)
    while before is not None:
        for one in inside(before, "assignment_expression"):
            if access.same(one.child_by_field_name("left")) and callee(assigned_value(one)) in ALLOCATORS:
                return before.type == "expression_statement"
        before = preceding(before)
    return False


def _only_releases(access: _PointerAccess, guard: tree_sitter.Node) -> bool:
    """Whether the branch does nothing but free the object and forget it, and the condition asks for nothing else."""
    if not access.same(_positive(guard.child_by_field_name("condition"))):
        return False
    branch = guard.child_by_field_name("consequence")
    if branch is None:
        return False
    parts = statements(branch) if branch.type == "compound_statement" else [branch]
    return bool(parts) and all(_frees_or_forgets(access, one) for one in parts)


def _positive(condition: tree_sitter.Node | None) -> tree_sitter.Node | None:
    """The expression that is asked to be other than NULL."""
    inner = bare(condition) if condition is not None else None
    if inner is not None and inner.type == "binary_expression" and text(inner.child_by_field_name("right")) in NULL:
        return inner.child_by_field_name("left")
    return inner


def _frees_or_forgets(access: _PointerAccess, statement: tree_sitter.Node) -> bool:
    expression = statement.named_children[0] if statement.type == "expression_statement" else None
    if expression is None:
        return False
    if expression.type == "call_expression":
        at = RELEASES.get(callee(expression))
        passed = arguments(expression)
        return at is not None and at < len(passed) and access.same(passed[at])
    left, right = expression.child_by_field_name("left"), expression.child_by_field_name("right")
    return expression.type == "assignment_expression" and access.same(left) and text(right) in NULL
