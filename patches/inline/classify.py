# SPDX-License-Identifier: GPL-2.0-or-later
"""Says for one expression what it does with the pointer, from its syntax alone."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import tree_sitter

from linesmith.analyzer.model import Refusal, RefusalCode
from linesmith.patches.inline.syntax import (
    ALLOCATORS,
    DEFERRED_RELEASES,
    NULL,
    PUBLISHERS,
    RELEASES,
    Allocator,
    arguments,
    bare,
    callee,
    compact,
    enclosing,
    function_name,
    inside,
    member_expression,
    outermost,
    preceding,
    text,
)
from linesmith.patches.inline.uses import Role, Use, is_local, is_tested, kept_in, taken_out
from linesmith.patches.treewide.image import Mention

_NEVER_NULL = "keep what it says in another member, or give --never-null where it is always set"
_EFFECTS = ("call_expression", "assignment_expression", "update_expression")
_COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))


@dataclass(frozen=True, slots=True)
class _Place:
    """The expression ``node`` (``x->p``), its spelling without blanks, and ``targets``, names of what it points to."""

    node: tree_sitter.Node
    spelled: str
    targets: tuple[str, ...]
    use: Use

    def standing(self, code: RefusalCode, reason: str, lift: str = "") -> Use:
        refusal = Refusal(code, self.use.place, reason, lift)
        return replace(self.use, role=Role.STANDING, refusal=refusal)

    def same(self, node: tree_sitter.Node | None) -> bool:
        return node is not None and compact(bare(node)) == self.spelled


def use_at(root: tree_sitter.Node, file: str, mention: Mention, targets: tuple[str, ...]) -> Use:
    """The use of the pointer that ``mention`` is the name of, in the file that ``root`` is the syntax of."""
    blank = Use(file, mention.line, Role.STANDING)
    node = member_expression(root, mention.offset)
    if node is None:
        code, where = (RefusalCode.IN_MACRO, f"the macro {mention.macro}") if mention.macro else (RefusalCode.NOT_C, "")
        reason = f"it is used in {where or 'text that is not plain C'} (`{mention.text[:60]}`)"
        return replace(blank, refusal=Refusal(code, blank.place, reason, "change it by hand first"))
    holder = text(node.child_by_field_name("argument"))
    use = replace(blank, function=function_name(node), holder=holder)
    place = _Place(node, compact(node), targets, use)
    found = _classified(place)
    return _kept_within(place, found) if found.role is Role.VALUE else found


def _kept_within(place: _Place, found: Use) -> Use:
    """The use as it was found, but where the function takes the object out of its record."""
    end = taken_out(place.node)
    if end is None:
        return found
    reason = f"the object is taken out of its record, which is left in line {end.start_point[0] + 1} ({text(end)[:60]})"
    return place.standing(RefusalCode.SHARED, reason, "make sure that nobody has the object longer than the record")


def _classified(place: _Place) -> Use:
    whole = outermost(place.node)
    above = whole.parent
    kind = above.type if above is not None else ""
    if above is None or kind == "ERROR":
        return place.standing(RefusalCode.NOT_C, "the text around it is not plain C", "change it by hand first")
    if kind == "field_expression":
        return replace(place.use, role=Role.MEMBER)
    if kind == "pointer_expression":
        return _dereferenced(place, above)
    if kind == "subscript_expression":
        if above.child_by_field_name("argument") != whole:
            return replace(place.use, role=Role.VALUE)
        return place.standing(RefusalCode.LARGER, "it is indexed, so it may point to an array of objects")
    if kind in ("assignment_expression", "init_declarator"):
        return _assigned(place, whole, above)
    if kind == "argument_list":
        return _passed(place, whole, above)
    if kind in ("unary_expression", "binary_expression", "update_expression", "sizeof_expression"):
        return _computed(place, above)
    return _others(place, whole, above)


def _dereferenced(place: _Place, above: tree_sitter.Node) -> Use:
    if text(above.child_by_field_name("operator")) == "*":
        return replace(place.use, role=Role.OBJECT)
    reason = "the pointer's own address is taken, so the pointer may be changed"
    return place.standing(RefusalCode.SHARED, reason)


def _assigned(place: _Place, whole: tree_sitter.Node, above: tree_sitter.Node) -> Use:
    if above.child_by_field_name("left") == whole:
        return _set(place, above)
    target = above.child_by_field_name("left") or above.child_by_field_name("declarator")
    if above.type == "init_declarator" or (target is not None and target.type == "identifier"):
        return _alias(place, target)
    reason = f"the pointer is kept in {text(target)} too"
    return place.standing(RefusalCode.SHARED, reason, "make sure that the object is not used there longer than here")


def _alias(place: _Place, target: tree_sitter.Node | None) -> Use:
    """A variable takes the pointer: it must be a local one, not be kept elsewhere, and not be tested for NULL."""
    name = text(next(inside(target, "identifier"), target)) if target is not None else ""
    function = enclosing(place.node, "function_definition")
    if function is None or not is_local(function, name):
        return place.standing(RefusalCode.SHARED, f"the pointer is kept in {name or text(target)} too")
    kept = next(kept_in(function, name), None)
    if kept is not None:
        return place.standing(RefusalCode.SHARED, f"the pointer is kept in {text(kept)} too, by way of {name}")
    test = next((one for one in inside(function, "identifier") if text(one) == name and is_tested(one)), None)
    if test is not None:
        reason = f"whether the pointer is NULL is asked by way of {name}, in line {test.start_point[0] + 1}"
        return replace(place.standing(RefusalCode.NULL_TEST, reason, _NEVER_NULL), role=Role.TEST)
    return replace(place.use, role=Role.VALUE)


def _set(place: _Place, assignment: tree_sitter.Node) -> Use:
    right = bare(assignment.child_by_field_name("right") or assignment)
    statement = outermost(assignment).parent
    if text(right) in NULL and statement is not None and statement.type == "expression_statement":
        return replace(place.use, role=Role.CLEARED)
    allocator = ALLOCATORS.get(callee(right)) if right.type == "call_expression" else None
    if allocator is None:
        return _set_otherwise(place, right)
    if statement is None or not _stands_alone(assignment, statement):
        return place.standing(RefusalCode.SHARED, f"what {callee(right)}() gives is used within the expression too")
    return _allocated(place, right, allocator)


def _set_otherwise(place: _Place, right: tree_sitter.Node) -> Use:
    if right.type == "call_expression":
        reason = f"the object comes from {callee(right) or text(right)}(), which is no allocator known here"
        return place.standing(RefusalCode.UNKNOWN_ALLOCATION, reason, "allocate it in place first")
    reason = f"the pointer is set to {text(right)}, which may be shared"
    return place.standing(RefusalCode.SHARED, reason, "where it is a new object, allocate it into the member first")


def _stands_alone(assignment: tree_sitter.Node, statement: tree_sitter.Node) -> bool:
    """Whether the assignment is a statement, or is only tested for NULL as the condition of an ``if``."""
    if statement.type == "expression_statement":
        return True
    test = _test_around(assignment)
    return test is not None and _guarded(test) is not None and _is_negative(assignment)


def _allocated(place: _Place, call: tree_sitter.Node, allocator: Allocator) -> Use:
    given = arguments(call)
    if not _is_one_object(place, given, allocator):
        reason = f"{text(call)} allocates something else than one {place.targets[0]}"
        return place.standing(RefusalCode.LARGER, reason)
    cache = text(given[allocator.cache]) if allocator.cache is not None else ""
    source = text(given[allocator.source]) if allocator.source is not None else ""
    clears = allocator.clears or (allocator.flags is not None and _asks_for_zero(given[allocator.flags :]))
    return replace(place.use, role=Role.ALLOCATION, callee=callee(call), cache=cache, source=source, clears=clears)


def _asks_for_zero(given: tuple[tree_sitter.Node, ...]) -> bool:
    """Whether the first of the arguments has __GFP_ZERO, or is a variable, which may have it."""
    flags = text(given[0]) if given else ""
    return "__GFP_ZERO" in flags or any(word.islower() for word in re.findall(r"[A-Za-z_]\w*", flags))


def _is_one_object(place: _Place, given: tuple[tree_sitter.Node, ...], allocator: Allocator) -> bool:
    wanted = (allocator.size, allocator.count, allocator.cache, allocator.source, allocator.object)
    if max((one for one in wanted if one is not None), default=0) >= len(given):
        return False
    if allocator.object is not None:
        return compact(given[allocator.object]) in (f"*{place.spelled}", *_joined(place.targets))
    if allocator.count is not None and text(given[allocator.count]) != "1":
        return False
    return allocator.size is None or compact(given[allocator.size]) in _sizes(place)


def _sizes(place: _Place) -> tuple[str, ...]:
    own = (f"sizeof(*{place.spelled})", f"sizeof*{place.spelled}", f"sizeof(*({place.spelled}))")
    return (*own, *(f"sizeof({target})" for target in _joined(place.targets)))


def _joined(targets: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("".join(target.split()) for target in targets)


def _passed(place: _Place, whole: tree_sitter.Node, above: tree_sitter.Node) -> Use:
    call = above.parent
    name = callee(call) if call is not None and call.type == "call_expression" else ""
    if call is None or call.type != "call_expression":
        return place.standing(RefusalCode.NOT_C, "the text around it is not plain C", "change it by hand first")
    index = next((at for at, one in enumerate(arguments(call)) if one == whole), -1)
    if name in PUBLISHERS:
        reason = f"{name}() reads or writes the pointer while others change it"
        return place.standing(RefusalCode.PUBLISHED, reason)
    if name in DEFERRED_RELEASES:
        reason = f"{name}() frees the object later than the record may be freed"
        return place.standing(RefusalCode.PUBLISHED, reason, "free the record in this way too")
    if name == "container_of":
        return place.standing(RefusalCode.LARGER, "container_of() shows that the object is part of a larger one")
    if RELEASES.get(name) == index and call.parent is not None and call.parent.type == "expression_statement":
        cache = text(arguments(call)[0]) if name == "kmem_cache_free" else ""
        return replace(place.use, role=Role.RELEASE, callee=name, cache=cache, sole=_may_go(place, call.parent))
    if name in ("IS_ERR", "IS_ERR_OR_NULL", "PTR_ERR", "unlikely", "likely", "WARN_ON", "WARN_ON_ONCE", "BUG_ON"):
        return _tested(place, call)
    return replace(place.use, role=Role.VALUE, callee=name)


def _computed(place: _Place, above: tree_sitter.Node) -> Use:
    operator = text(above.child_by_field_name("operator"))
    if operator == "!" or operator in ("&&", "||"):
        return _tested(place, above)
    if operator in _COMPARISONS:
        sides = (above.child_by_field_name("left"), above.child_by_field_name("right"))
        if any(text(one) in NULL for one in sides):
            return _tested(place, above)
        reason = f"the pointer is compared ({text(above)}), so objects may be shared"
        return place.standing(RefusalCode.SHARED, reason)
    if above.type == "sizeof_expression":
        return place.standing(RefusalCode.SHARED, "the size of the pointer is asked for, which is then the object's")
    return place.standing(RefusalCode.LARGER, f"the pointer is computed with ({text(above)})")


def _others(place: _Place, whole: tree_sitter.Node, above: tree_sitter.Node) -> Use:
    if above.type == "return_statement":
        return replace(place.use, role=Role.VALUE)
    if above.type == "conditional_expression" and above.child_by_field_name("condition") != whole:
        return replace(place.use, role=Role.VALUE)
    if above.type in ("parenthesized_expression", "conditional_expression"):
        return _tested(place, above)
    if above.type in ("initializer_pair", "initializer_list"):
        reason = "the pointer is kept in what is initialised here"
        return place.standing(RefusalCode.SHARED, reason)
    return place.standing(RefusalCode.NOT_C, f"what is done with it is not known ({text(above)[:40]})")


def _tested(place: _Place, above: tree_sitter.Node) -> Use:
    """A test for NULL: behind the allocation, in front of the release, or one that says something."""
    guard = _guarded(_test_around(place.node) or above)
    if guard is not None and _is_negative(place.node) and _is_behind_allocation(place, guard):
        return replace(place.use, role=Role.ALLOCATION_CHECK)
    if guard is not None and not _is_negative(place.node) and _only_releases(place, guard):
        return replace(place.use, role=Role.RELEASE_CHECK)
    reason = f"whether the pointer is NULL is asked ({text(bare(above))[:60]})"
    return replace(place.standing(RefusalCode.NULL_TEST, reason, _NEVER_NULL), role=Role.TEST)


def _test_around(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """The whole condition that ``node`` is the only, or one of several alternative parts of."""
    while node.parent is not None:
        above = node.parent
        operator = text(above.child_by_field_name("operator"))
        passes = above.type == "parenthesized_expression" and not _heads(above)
        passes = passes or (
            above.type in ("unary_expression", "binary_expression") and operator in ("!", "==", "!=", "||")
        )
        passes = passes or above.type in ("argument_list", "assignment_expression")
        passes = passes or (above.type == "call_expression" and callee(above) in ("likely", "unlikely"))
        if not passes:
            return above if _heads(above) else None
        node = above
    return None


def _heads(node: tree_sitter.Node) -> bool:
    return node.parent is not None and node.parent.type == "if_statement" and node.type == "parenthesized_expression"


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
    return above is not None and text(above.child_by_field_name("operator")) in ("!", "==")


def _is_behind_allocation(place: _Place, guard: tree_sitter.Node) -> bool:
    """Whether an earlier statement of the block allocates the object, or the condition itself does."""
    before = preceding(guard)
    while before is not None:
        for one in inside(before, "assignment_expression"):
            right = bare(one.child_by_field_name("right") or one)
            if place.same(one.child_by_field_name("left")) and callee(right) in ALLOCATORS:
                return before.type == "expression_statement"
        before = preceding(before)
    return False


def _only_releases(place: _Place, guard: tree_sitter.Node) -> bool:
    """Whether the branch does nothing but free the object and forget it, and the condition asks for nothing else."""
    if not place.same(_positive(guard.child_by_field_name("condition"))):
        return False
    branch = guard.child_by_field_name("consequence")
    if branch is None:
        return False
    statements = (
        [branch]
        if branch.type != "compound_statement"
        else [one for one in branch.named_children if one.type != "comment"]
    )
    return bool(statements) and all(_frees_or_forgets(place, one) for one in statements)


def _positive(condition: tree_sitter.Node | None) -> tree_sitter.Node | None:
    """The expression that is asked to be other than NULL."""
    inner = bare(condition) if condition is not None else None
    if inner is not None and inner.type == "binary_expression" and text(inner.child_by_field_name("right")) in NULL:
        return inner.child_by_field_name("left")
    return inner


def _frees_or_forgets(place: _Place, statement: tree_sitter.Node) -> bool:
    expression = statement.named_children[0] if statement.type == "expression_statement" else None
    if expression is None:
        return False
    if expression.type == "call_expression":
        at = RELEASES.get(callee(expression))
        given = arguments(expression)
        return at is not None and at < len(given) and place.same(given[at])
    left, right = expression.child_by_field_name("left"), expression.child_by_field_name("right")
    return expression.type == "assignment_expression" and place.same(left) and text(right) in NULL


def _may_go(place: _Place, statement: tree_sitter.Node) -> bool:
    """Whether the statement is all that an ``if`` does, whose condition does nothing and is no test of the pointer."""
    guard = statement.parent
    if not _is_sole(statement) or guard is None or guard.type != "if_statement":
        return False
    condition = guard.child_by_field_name("condition")
    if condition is None or guard.child_by_field_name("alternative") or place.same(_positive(condition)):
        return False
    return not any(any(inside(condition, kind)) for kind in _EFFECTS)


def _is_sole(statement: tree_sitter.Node) -> bool:
    """Whether the statement is a branch or the body of a loop without braces."""
    above = statement.parent
    return above is not None and above.type not in (
        "compound_statement",
        "ERROR",
        "case_statement",
        "labeled_statement",
    )
