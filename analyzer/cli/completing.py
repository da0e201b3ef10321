# SPDX-License-Identifier: GPL-2.0-or-later
"""Completion of command lines: the names that a shell may ask for, and what each shell needs to ask."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from linesmith.analyzer.base.errors import LinesmithError
from linesmith.analyzer.cli.settled import settle_cache

if TYPE_CHECKING:
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.model import Layout


# Names for a shell that completes a command line: of types and members that an index has, of rules and revisions.

# What no shell takes for anything but a word: names come from files that anyone may have written, and a shell puts them
# on the line as they are. Templates of C++ have signs that redirect.
_WORD = re.compile(r"[\w.:]+")
_REVISION = re.compile(r"\w[\w./+-]*")
# What pages and word processors make of the dashes of an option.
_DASHES = "\u2013\u2014"
# In which a shell asks; click makes its name of the program's.
COMPLETE_VARIABLE = "_LINESMITH_COMPLETE"
# More than anybody reads; a shell asks again with each letter.
MOST_NAMES = 1000


class Name(click.types.StringParamType):
    """A name that somebody writes, or a variable of the shell holds."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name; fails where it is empty, which would ask for everything."""
        name: str = super().convert(value, param, ctx)
        if not name.strip():
            self.fail("the name is empty, as where a variable of the shell is not set; write one", param, ctx)
        if name[0] in _DASHES:
            self.fail(f"{name} begins with a dash of printed text; type it as --{name.lstrip(_DASHES)}", param, ctx)
        return name


class TypeName(Name):
    """The name of a record, or a pattern; taken as it is, and completed from the index of the ELF file before it."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Names that begin so. While somebody types no debug information is read: that takes seconds."""
        from click.shell_completion import CompletionItem

        with suppress(LinesmithError):
            settle_cache(ctx)
        known = dict.fromkeys(name for elf in _given(ctx) for name in _indexed(elf))
        names = (name for name in known if name.startswith(incomplete) and _WORD.fullmatch(name))
        return [CompletionItem(name) for _, name in zip(range(MOST_NAMES), names, strict=False)]


class MemberName(Name):
    """The name of a member, or several with commas; taken as it is, completed from the types that stand on the line."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Members that begin as the last of the names does; ``NAME=BYTES`` gets its sign."""
        from click.shell_completion import CompletionItem

        before, comma, begun = incomplete.rpartition(",")
        sign = "=" if "=" in (param.metavar or "") else ""
        known = dict.fromkeys(name for layout in _records(ctx) for name in _members(layout))
        names = (name for name in known if name.startswith(begun) and _WORD.fullmatch(name))
        return [CompletionItem(f"{before}{comma}{name}{sign}") for name in names]


class Revision(click.types.StringParamType):
    """A revision of a git tree; taken as it is, completed by the names of its branches and tags."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Branches and tags that begin so, of the tree that is named or else the one around."""
        from click.shell_completion import CompletionItem

        from linesmith.patches.revisions.git import repository_of

        tree = ctx.params.get("tree")
        try:
            known = repository_of(tree if isinstance(tree, Path) else Path.cwd()).names()
        except (LinesmithError, OSError):
            return []
        found = (name for name in known if name.startswith(incomplete) and _REVISION.fullmatch(name))
        return [CompletionItem(name) for _, name in zip(range(MOST_NAMES), found, strict=False)]


class RuleName(Name):
    """The name of a lint rule, or a pattern; taken as it is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Rules whose names begin so, with what they say where the shell shows that."""
        from click.shell_completion import CompletionItem

        from linesmith.analyzer.lint.rules.catalogue import RULES

        return [CompletionItem(one.name, help=one.summary) for one in RULES if one.name.startswith(incomplete)]


class CommandName(click.types.StringParamType):
    """The name of a command of this program; taken as it is."""

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Commands whose names begin so."""
        from click.shell_completion import CompletionItem

        root = ctx.find_root()
        known = root.command.list_commands(root) if isinstance(root.command, click.Group) else []
        return [CompletionItem(name) for name in known if name.startswith(incomplete)]


class OneOf(click.types.StringParamType):
    """One of the words that help shows as ``[WORD|WORD]``; taken as it is, for plugins add others."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's signature
        """Words that begin so."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


_NAMES: dict[str, click.ParamType[str]] = {
    "TYPE": TypeName(),
    "MEMBER": MemberName(),
    "MEMBER,": MemberName(),
    "MEMBER=BYTES": MemberName(),
    "RULE": RuleName(),
    "REV": Revision(),
    "COMMAND": CommandName(),
}


def complete_names(command: click.Command) -> None:
    """Let the parameters of a command that take names be completed, by what its help calls them."""
    for param in command.params:
        if param.type is click.STRING:
            called = (param.metavar or "").strip("[].")
            words = tuple(called.split("|"))
            param.type = OneOf(words) if len(words) > 1 else _NAMES.get(called, param.type)


def prepare_completion() -> None:
    """Where a shell asks, let click know how shells are answered."""
    if COMPLETE_VARIABLE in os.environ:
        register()


def _given(ctx: click.Context) -> list[Path]:
    """The files that the command line names so far; before an option without a value they are in ``args``."""
    values = (one for value in ctx.params.values() for one in (value if isinstance(value, tuple) else (value,)))
    found = [*(one for one in values if isinstance(one, Path)), *map(Path, ctx.args)]
    return [one for one in found if os.path.isfile(one)]  # noqa: PTH113 - pathlib raises for a name too long


def _indexed(elf: Path) -> tuple[str, ...]:
    """The names of its records, where its layouts are kept."""
    layouts = _kept(elf)
    return layouts.names() if layouts else ()


def _kept(elf: Path) -> Layouts | None:
    """Its layouts where they are kept; only its headers are looked at."""
    from linesmith.analyzer.layouts.dwarf import indexed

    try:
        return indexed(elf)
    except (LinesmithError, OSError):
        return None


def _records(ctx: click.Context) -> Iterator[Layout]:
    """What the line names of the records of its files; a name may stand anywhere."""
    from linesmith.analyzer.layouts.collection import bare_name

    with suppress(LinesmithError):
        settle_cache(ctx)
    values = (one for value in ctx.params.values() for one in (value if isinstance(value, tuple) else (value,)))
    words = [bare_name(one) for one in (*values, *ctx.args) if isinstance(one, str)]
    for layouts in filter(None, map(_kept, _given(ctx))):
        yield from (layout for word in words for layout in layouts.variants(word))


def _members(layout: Layout) -> Iterator[str]:
    return (member.name for member in layout.members if member.name)


# Shells that complete command lines, each with its own idea of where a word ends.
#
# Of ``--format=s`` bash sees the words ``--format``, ``=`` and ``s``, and of ``ns::Ty`` three as well (bash(1),
# COMP_WORDBREAKS); zsh and fish see one word, which a completion replaces with the option in front of the value.

_BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' kind value
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain)
                COMPREPLY+=("$value")
                [[ $value != *= ]] || compopt -o nospace
                ;;
        esac
    done < <(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""
# What of click's script zsh gets otherwise: it leaves the option on the line, for values and files alike, and so it
# must match itself (zshcompwid(1), compset -P and compadd -U).
_ZSH = (
    ("    local -a response\n", "    local -a response\n    compset -P '*='\n"),
    ("compadd -U ", "compadd "),
    ("completions_with_descriptions -U", "completions_with_descriptions"),
)
# What fish gets: its own words for files and directories know nothing of an option in front, and a value, or what is
# said of it, may have commas.
_PLACES = """\
set -l option (string replace -r -- '^(--[^=]*=)?.*' '$1' $metadata[2]);
            for place in ({} (string replace -r -- '^--[^=]*=' '' $metadata[2]));
                echo "$option$place";
            end;"""
_FISH = (
    ('string split ","', 'string split -m 1 ","'),
    *(
        (f"{words} $metadata[2];", _PLACES.format(words))
        for words in ("__fish_complete_directories", "__fish_complete_path")
    ),
)


class Bash(BashComplete):
    """As click's own, with the line taken apart as the program will see it."""

    source_template = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and what there is of that."""
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)[1:]
        if not words or line[-1:].isspace():
            return words, ""
        return words[:-1], words[-1]

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """What the shell puts in the place of what it takes for the word: that behind the last break."""
        breaks = os.environ.get("COMP_WORDBREAKS", "=:")
        option, value = _apart(incomplete)
        found = super().get_completions(args, incomplete)
        if option and "=" not in breaks:
            return _behind(option, found)
        kept = value.rpartition(":")[0] + ":" if ":" in value and ":" in breaks else ""
        return [CompletionItem(one.value.removeprefix(kept), one.type) for one in found]


class Zsh(ZshComplete):
    """As click's own, with the option in front of a value left alone."""

    source_template = reduce(lambda text, change: text.replace(*change), _ZSH, ZshComplete.source_template)


class Fish(FishComplete):
    """As click's own, with the option in front of a value given back."""

    source_template = reduce(lambda text, change: text.replace(*change), _FISH, FishComplete.source_template)

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[Any]]:
        """Whole words."""
        option, _ = _apart(incomplete)
        return _behind(option, super().get_completions(args, incomplete))


def _apart(word: str) -> tuple[str, str]:
    """An option with its sign, and the value behind it: ``--format=`` and ``s``."""
    name, joined, value = word.partition("=")
    return (name + joined, value) if joined and word.startswith("--") else ("", word)


def _behind(option: str, found: list[CompletionItem[Any]]) -> list[CompletionItem[Any]]:
    return [CompletionItem(f"{option}{one.value}", one.type, one.help) for one in found]


def register() -> None:
    """Let click take these classes."""
    for shell in (Bash, Zsh, Fish):
        add_completion_class(shell)
