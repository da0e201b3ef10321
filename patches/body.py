# SPDX-License-Identifier: GPL-2.0-or-later
"""A record's body in the text of its file, cut anew into atoms after each change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from linesmith.patches.atoms import Atom, Scope, scope
from linesmith.patches.pieces import Origin, Piece, pieces
from linesmith.patches.records import Record
from linesmith.patches.sections import Heading, headings


@dataclass(frozen=True, slots=True)
class Body:
    """A record in its file. ``outer`` is what lies between its braces; ``sound`` tells that the grammar took it whole.

    ``anchors`` are members of the anonymous struct that the change is about, empty where it is about the record;
    ``headings`` the comments that stay when the member below them leaves, as the body was before any change.
    """

    origin: Origin
    record: Record
    outer: Scope
    sound: bool
    anchors: frozenset[str] = frozenset()
    headings: frozenset[Heading] = frozenset()

    @property
    def home(self) -> Scope:
        """The scope that the change is about: ``outer``, or the anonymous struct that declares most of ``anchors``."""
        return max(_scopes(self.outer), key=lambda one: _declared(one, self.anchors)) if self.anchors else self.outer

    def common(self, names: Collection[str]) -> Scope:
        """The innermost scope in which all of ``names`` are declared, and in no other one beside it."""
        return _common(self.home, names)

    def innermost(self, name: str) -> Scope:
        """The deepest scope that declares ``name`` once; ``home`` where none does."""
        return _innermost(self.home, name)

    def rewritten(self, inside: Scope, cut: Sequence[Piece]) -> Body:
        """The body with the lines of ``inside`` replaced by those of ``cut``."""
        source = self.origin.source
        text = source[: inside.start] + b"".join(piece.text for piece in cut) + source[inside.end :]
        record = replace(self.record, closing=self.record.closing + len(text) - len(source))
        return replace(self, origin=Origin(text, self.origin.file), record=record, outer=scope(text, record)[0])

    def pieces(self, inside: Scope) -> list[Piece]:
        """The lines of ``inside`` as pieces; raises ``EditRefused`` where atoms lie on the lines of its edges."""
        return pieces(self.origin, inside)


def parsed(origin: Origin, record: Record, anchors: frozenset[str] = frozenset()) -> Body:
    """The body of ``record`` as the file has it."""
    outer, sound = scope(origin.source, record)
    return Body(origin, record, outer, sound, anchors, frozenset(headings(origin.source, outer)))


def members(inside: Scope) -> tuple[str, ...]:
    """The direct members of a scope in the order of the text, each once."""
    return tuple(dict.fromkeys(name for atom in inside.atoms for name in atom.names))


def all_members(inside: Scope) -> tuple[str, ...]:
    """Direct members and those of anonymous records, in the order of the text, each once."""
    return tuple(dict.fromkeys(name for atom in inside.atoms for name in _of_atom(atom)))


def _of_atom(atom: Atom) -> Iterator[str]:
    for inside in atom.scopes:
        yield from all_members(inside)
    yield from (*atom.names, *atom.inner)


def _common(inside: Scope, names: Collection[str]) -> Scope:
    for atom in inside.atoms:
        if len(names) > 1 and all(atom.declares(name) for name in names):
            deeper = [one for one in atom.scopes if _declared(one, names) == len(names)]
            # Two arms that declare all of them are for two configurations: which is meant, the text does not say.
            return _common(deeper[0], names) if len(deeper) == 1 else inside
    return inside


def _innermost(inside: Scope, name: str) -> Scope:
    deeper = [one for atom in inside.atoms for one in atom.scopes if _declared(one, (name,))]
    return _innermost(deeper[0], name) if len(deeper) == 1 else inside


def _declared(inside: Scope, names: Collection[str]) -> int:
    return sum(any(atom.declares(name) for atom in inside.atoms) for name in names)


def _scopes(inside: Scope) -> Iterator[Scope]:
    """All scopes within, the inner ones first."""
    for atom in inside.atoms:
        for one in atom.scopes:
            yield from _scopes(one)
    yield inside
