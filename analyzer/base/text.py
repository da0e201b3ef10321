# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from files that anyone may have written, shown so that it steers no terminal and no reader's eye.

Control characters move a terminal's cursor, marks of direction (Unicode Annex 9) turn text around, and others show
nothing at all, so that two names look alike. All of them are shown by their numbers. Symbols of C++ are shown as people
write them: ``_ZN3app4Pool4takeEi`` as ``app::Pool::take``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import category

# Characters in a line of a commit message: what checkpatch.pl takes without complaint.
WIDTH = 75
# Control, format (the marks of direction among them), surrogates, unassigned, private, separators.
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"))
# Letters and marks without a shape of their own: fillers, a joiner, selectors of variants.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# What may have to be escaped: all but printable ASCII, tab, newline, and the dashes, quotes and blocks that we write.
_DOUBTFUL = re.compile("[^\t\n\x20-\x7e\u2010-\u2027\u2500-\u25ff]")


def is_plain(document: bytes) -> bool:
    """Whether all texts of a MessagePack document are printable ASCII, and all numbers from 0 to 2^64 - 1.

    False also for a damaged one.
    """
    from linesmith.analyzer import _native  # what reads no such document does without

    return _native.is_plain(document)


def visible(text: str) -> str:
    r"""``text`` with each character that is not seen, or steers others, as ``\u202e``; newlines and tabs stay.

    Characters beyond U+FFFF are two such escapes (UTF-16), as in JSON: within a string of JSON the result stands for
    the same text.
    """

    def shown(found: re.Match[str]) -> str:
        if not is_unseen(found[0]):
            return found[0]
        units = found[0].encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    return _DOUBTFUL.sub(shown, text)


def is_unseen(character: str) -> bool:
    """Whether ``visible`` would escape it; newlines and tabs are unseen, too."""
    return category(character) in _UNSEEN or _BLANK.match(character) is not None


def shortened(names: Sequence[str], most: int) -> str:
    """The first names, with an ellipsis where there are more."""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def listed(names: Iterable[str], most: int) -> str:
    """``a, b and 3 more``: names beyond ``most`` are counted."""
    every = list(names)
    return ", ".join(every[:most]) + and_more(len(every) - most)


def and_more(count: int) -> str:
    """`` and 3 more``; nothing where no more are left."""
    return f" and {count} more" if count > 0 else ""


def paragraph(text: str, *, first: str = "", then: str = "", columns: int = WIDTH) -> str:
    """``text`` in lines of at most ``columns``; the first begins with ``first``, the others with ``then``.

    Words longer than that, such as paths, stay whole.
    """
    return textwrap.fill(
        text, columns, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    )


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """A question for the next step: which of the known names may be meant; empty where none is near."""
    from difflib import get_close_matches  # only a mistake needs it

    near = get_close_matches(name, dict.fromkeys(known), most)
    return f"did you mean {', '.join(near)}?" if near else ""


def per_cent(share: float, like: float | None = None) -> str:
    """Two or three digits of a share in per cent, or as many decimals as those of ``like`` have."""
    size = abs(share if like is None else like)
    text = f"{100 * share:.{0 if size >= 0.1 else 1 if size >= 0.01 else 2}f}"
    return text if text.strip("-0.") else "0"


def with_span(share: float, low: float, high: float, unit: str = "%") -> tuple[str, str]:
    """A share in per cent and its interval, ``61% to 100%``: with more decimals where both ends would read the same."""
    for finer in (1, 10, 100):
        first, last = (f"{per_cent(one, share / finer)}{unit}" for one in (low, high))
        if first != last:
            return f"{per_cent(share, share / finer)}%", f"{first} to {last}"
    return f"{per_cent(share)}%", "the same in all runs"


# Names of C++. Parameters and the arguments of templates are left out, so that a name is read once from left to right
# and never grows: a demangler that writes all of it can be made to write gigabytes by a symbol of a hundred characters.
# Source: the Itanium C++ ABI, 5.1. A symbol that is not understood stays as it is.

_SYMBOL = re.compile(r"\b_Z[A-Za-z0-9_]+(?:\.[a-z]+(?:\.\d+)*)*")
_LENGTH = re.compile("[1-9][0-9]{0,5}")
# Characters of a symbol, and functions within functions, that are read.
MOST_CHARACTERS, MOST_NESTED = 4096, 8
_OPERATORS = dict(pair.split() for pair in (
    "nw new", "na new[]", "dl delete", "da delete[]", "aS =", "cl ()", "ix []", "pt ->", "eq ==", "ne !=", "lt <",
    "gt >", "le <=", "ge >=", "ss <=>", "nt !", "co ~", "pl +", "mi -", "ml *", "dv /", "rm %", "an &", "or |", "eo ^",
    "ls <<", "rs >>", "pL +=", "mI -=", "mL *=", "dV /=", "pp ++", "mm --", "de *", "ad &", "aa &&",
))  # fmt: skip
# What compilers call the namespace without a name, and what c++filt and gdb call it.
_UNNAMED = {"_GLOBAL__N_1": "(anonymous namespace)"}
# An operator's sign is no bracket; before arguments of a template a space follows it.
_SIGNS = "|".join(map(re.escape, sorted(_OPERATORS.values(), key=len, reverse=True)))
_PIECE = re.compile(
    rf"\(anonymous namespace\)|\boperator(?: ?(?:{_SIGNS})(?!\w)(?: (?=<))?)?(?!\w)|->|::|[\w~]+|.", re.DOTALL
)
_STANDARD = {"St": "std", "Sa": "std::allocator", "Ss": "std::string", "Si": "std::istream", "So": "std::ostream"}


def with_cxx_names(text: str) -> str:
    """``text`` with the symbols of C++ in it as people write them."""
    return _SYMBOL.sub(lambda found: cxx_name(found[0]), text) if "_Z" in text else text


def cxx_name(symbol: str) -> str:
    """The name that a symbol stands for; the symbol itself where it is none of C++."""
    mangled = symbol.partition(".")[0]
    if not mangled.startswith("_Z") or len(mangled) > MOST_CHARACTERS:
        return symbol
    try:
        return "::".join(_Reader(mangled, 2).encoding(MOST_NESTED)) or symbol
    except (IndexError, ValueError):
        return symbol


def plain_name(written: str) -> str:
    """A function of C++ as ``cxx_name`` has it: without its result, parameters and arguments of templates.

    Code within a function, such as a lambda, and conversions to a type stay as they are.
    """
    if len(written) > MOST_CHARACTERS or "{" in written:
        return written
    name, within, behind = "", "", False
    for one in _PIECE.findall(written):
        if one in ("<", "("):
            behind = behind or (one == "(" and not within)
            within += one
        elif one in (">", ")"):
            within = within[:-1] if within.endswith("<" if one == ">" else "(") else within
        elif not within and one == ("::" if behind else "operator"):
            return written
        elif not within and not behind:
            name = "" if one == " " else name + one.rstrip()
    return name or written


@dataclass(slots=True)
class _Reader:
    """Reads ``text`` from ``at`` on; raises ``IndexError`` or ``ValueError`` for what it does not know."""

    text: str
    at: int

    def encoding(self, nested: int) -> list[str]:
        """The scopes and the name of a function or variable."""
        if self.text[self.at] == "Z" and nested:
            self.at += 1
            scopes = self.encoding(nested - 1)
            self._skip()
            return [*scopes, *self.encoding(nested - 1)]
        if self.text[self.at] == "N":
            self.at += 1
            while self.text[self.at] in "rVKRO":
                self.at += 1
            return self._parts("E")
        return self._parts("")

    def _parts(self, end: str) -> list[str]:
        """The parts of a name up to ``end``; without one, those of a name in no scope but ``std``."""
        parts: list[str] = []
        while (end and self.text[self.at] != end) or (not end and (not parts or parts == ["std"])):
            parts += self._part(parts)
        self.at += len(end)
        return parts

    def _part(self, before: list[str]) -> list[str]:
        start, two = self.text[self.at], self.text[self.at : self.at + 2]
        if start.isdigit():
            name = self._identifier()
            return [_UNNAMED.get(name, name)]
        if start == "L":
            self.at += 1
            return []
        self.at += 2
        if start in "CD" and before and two[1] in "012345":
            return [f"~{before[-1]}" if start == "D" else before[-1]]
        if two in _STANDARD:
            return [_STANDARD[two]]
        if two in _OPERATORS:
            return [f"operator{' ' * _OPERATORS[two].startswith(('new', 'delete'))}{_OPERATORS[two]}"]
        if two == "Ul":
            self._skip()
            self.at = self.text.index("_", self.at) + 1
            return ["{lambda}"]
        self.at -= 1
        if start == "I" and before:
            self._skip()
            return []
        if start == "B" and before:
            self._identifier()
            return []
        raise ValueError(self.text)

    def _identifier(self) -> str:
        length = _LENGTH.match(self.text, self.at)
        if length is None or length.end() + int(length[0]) > len(self.text):
            raise ValueError(self.text)
        self.at = length.end() + int(length[0])
        return self.text[length.end() : self.at]

    def _skip(self) -> None:
        """Go behind the ``E`` that ends what has begun."""
        depth = 1
        while depth:
            one, following = self.text[self.at], self.text[self.at + 1 : self.at + 2]
            if one.isdigit():
                self._identifier()
            elif one in "STA" and not (one == "S" and following in "tabsiod"):
                self.at = self.text.index("_", self.at) + 1
            elif one == "L" and following not in ("_", "N"):
                self.at = self.text.index("E", self.at) + 1
            else:
                depth += (one in "NIXJF" or one + following in ("Ul", "DT", "Dt")) - (one == "E")
                self.at += 2 if one in "SDU" else 1
