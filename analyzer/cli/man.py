# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith man``: the manual, for those who package linesmith or want to read it in a pager.

A page is source of man(7), made of the very text that ``--help`` shows. Variables and files that are of no one command
stand in tables here.
"""

from __future__ import annotations

import os
import re
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import OutputError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.group import LazyGroup
from linesmith.analyzer.cli.options import NEW_DIRECTORY
from linesmith.analyzer.cli.settings import ALONE, CACHE_DIRECTORY, settings_in, variable, variables


class ManEntry(NamedTuple):
    """A variable or a file by its ``name`` or names, and what it is for."""

    name: str
    meaning: str


VARIABLES = (
    ManEntry(
        f"{variable('command', 'option')}, {variable('option')}",
        "Set an option of one command, or of all commands that have it, such as `LINESMITH_SLAB_CPUS`. `linesmith"
        " config` lists these variables, and the page of each command names its own.",
    ),
    ManEntry(
        variable(CACHE_DIRECTORY),
        "Cache directory for layouts, access maps and scans; the setting `cache-dir` in the user's file.",
    ),
    ManEntry(ALONE[0], "Program that parses sources, instead of the installed one."),
    ManEntry("XDG_CONFIG_HOME, XDG_CACHE_HOME", "Base directories of the user's file and of the cache."),
    ManEntry(
        "DEBUGINFOD_URLS",
        "Servers that provide missing debug information (debuginfod), as for gdb and perf; not used for code under"
        " review.",
    ),
    ManEntry(ALONE[1], "Disable colour."),
    ManEntry(ALONE[2], "Directory for temporary files."),
    ManEntry("SOURCE_DATE_EPOCH", "Date of the man pages."),
)
FILES = (
    ManEntry(
        "$XDG_CONFIG_HOME/linesmith/config.toml",
        "The user's settings; `~/.config/linesmith/config.toml` if the variable is not set.",
    ),
    ManEntry(
        "linesmith.toml",
        "In the root of a source tree: the intents of its layouts, and the defaults for its machines in the table"
        " `[defaults]`.",
    ),
    ManEntry(
        "$XDG_CACHE_HOME/linesmith",
        "The cache; `~/.cache/linesmith` if neither variable is set. It may be deleted at any time.",
    ),
)
_STATUS = (
    ManEntry("0", "Success."),
    ManEntry("1", "Success, with findings such as a difference or a violation."),
    ManEntry("2", "Error: one line on standard error says what is wrong and what to do next."),
)


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=NEW_DIRECTORY,
    help="Write the pages to DIR, which is created if it does not exist.",
)
def command(output: Path) -> None:
    """Write a man page for each command, with the text of its --help.

    The pages belong in section 1 of the manual, such as /usr/local/share/man/man1. They are dated today, or by
    SOURCE_DATE_EPOCH if it is set.
    """
    root = click.get_current_context().find_root().command
    # Seconds since 1970. See reproducible-builds.org, SOURCE_DATE_EPOCH.
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(given) if given.isdecimal() else int(time.time())
    made = dict(pages(root, seconds)) if isinstance(root, LazyGroup) else {}
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, page in made.items():
            files.replace_file(output / name, page.encode())
    except OSError as error:
        raise OutputError(f"cannot write {error.filename}: {error.strerror}; name another folder with -o") from error
    click.echo(visible(f"{output}: {len(made)} pages"))


def pages(root: LazyGroup, seconds: int) -> Iterator[tuple[str, str]]:
    """File names and pages of the program and of every command; ``seconds`` since 1970 is the date they bear."""
    date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    with click.Context(root, info_name="linesmith", **root.context_settings) as context:
        known = root.list_commands(context)
        further = [*_commands(context, root), ".SH ENVIRONMENT", *_entries(VARIABLES), ".SH FILES", *_entries(FILES)]
        yield "linesmith.1", _page(context, date, further, [f"linesmith-{one}(1)" for one in known])
        for names in root.command_groups.values():
            for name in names:
                if (command := root.get_command(context, name)) is not None:
                    below = command.context_class(command, info_name=name, parent=context)
                    others = ["linesmith(1)", *(f"linesmith-{one}(1)" for one in names if one != name)]
                    yield f"linesmith-{name}.1", _page(below, date, list(_variables(below)), others)


def _page(context: click.Context, date: str, further: Sequence[str], others: Sequence[str]) -> str:
    from importlib.metadata import version

    command, name = context.command, context.command_path.replace(" ", "-")
    release = f"linesmith {version('linesmith')}"
    usage = " ".join(literal(piece) for piece in command.collect_usage_pieces(context))
    summary = " ".join(command.get_short_help_str(limit=300).replace("`", "").split()).removesuffix(".")
    helped = (one.get_help_record(context) for one in command.get_params(context) if isinstance(one, click.Option))
    lines = [
        rf'.TH "{literal(name.upper())}" 1 "{date}" "{release}" "linesmith"',
        ".SH NAME",
        wrapped(rf"{literal(name)} \- {literal(summary)}"),
        ".SH SYNOPSIS",
        wrapped(f"{bold(context.command_path)} {usage}"),
        ".SH DESCRIPTION",
        paragraphs(command.help or ""),
        ".SH OPTIONS",
        *_entries(ManEntry(*record) for record in helped if record),
        *further,
        ".SH EXIT STATUS",
        *_entries(_STATUS),
        ".SH SEE ALSO",
        ",\n".join(map(_reference, others)),
    ]
    return "\n".join(lines) + "\n"


def _entries(entries: Iterable[ManEntry]) -> Iterator[str]:
    for name, meaning in entries:
        yield from (".TP", bold(name), prose(meaning))


def _variables(context: click.Context) -> Iterator[str]:
    """The variables that stand for options of the command."""
    name = context.info_name or ""
    for number, (param, setting) in enumerate(settings_in(context.command, name)):
        if not number:
            yield ".SH ENVIRONMENT"
        yield ".TP"
        yield ", ".join(map(bold, variables(name, setting)))
        yield prose(f"Sets {max(param.opts, key=len)}.")


def _commands(context: click.Context, root: LazyGroup) -> Iterator[str]:
    yield ".SH COMMANDS"
    for title, names in root.command_groups.items():
        yield f".SS {title}"
        for name in names:
            if (command := root.get_command(context, name)) is not None:
                yield from (".TP", _reference(f"linesmith-{name}(1)"), prose(command.get_short_help_str(limit=300)))


def _reference(page: str) -> str:
    name, _, section = page.partition("(")
    return f"{bold(name)}({section}"


# Text of help as source of man(7).

_LITERAL = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})
_PROSE = str.maketrans({"\\": r"\e", "^": r"\(ha", "~": r"\(ti"})
_COLUMNS = 78
_CODE = re.compile(r"`([^`]+)`|(?<![\w-])(--?[a-z][\w-]*)")
# click's marks: of lines to leave as they are, and of the end of what is shown
_AS_IT_IS = "\b"
_END = "\f"


def literal(text: str) -> str:
    """What a user types or reads letter by letter."""
    return _line(_ascii(text.translate(_LITERAL)))


def bold(text: str) -> str:
    """The same, set off."""
    return rf"\fB{_ascii(text.translate(_LITERAL))}\fR"


def prose(text: str) -> str:
    """A paragraph on lines of its own; what stands in backquotes and names of options are set off."""
    joined = " ".join(text.split())
    parts, at = [], 0
    for found in _CODE.finditer(joined):
        parts += [joined[at : found.start()].translate(_PROSE), bold(found[1] or found[2])]
        at = found.end()
    parts.append(joined[at:].translate(_PROSE))
    return wrapped(_ascii("".join(parts)))


def wrapped(source: str) -> str:
    """Source of running text, on lines that people can read."""
    lines = textwrap.wrap(source, _COLUMNS, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_line, lines))


def paragraphs(help_: str) -> str:
    """The help of a command: paragraphs, and blocks of lines that stay as they are."""
    made = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(help_.partition(_END)[0]).strip("\n")):
        if block.lstrip(" ").startswith(_AS_IT_IS):
            lines = textwrap.dedent(block.partition("\n")[2]).splitlines()
            made += [".PP", ".RS 4", ".EX", *map(literal, lines), ".EE", ".RE"]
        else:
            made += [".PP", prose(block)]
    return "\n".join(made[1:])


def _ascii(text: str) -> str:
    """Letters beyond ASCII by their numbers, which every formatter knows. See groff_char(7)."""
    return "".join(letter if letter.isascii() else f"\\[u{ord(letter):04X}]" for letter in text)


def _line(text: str) -> str:
    """A line of text that begins like a request is none."""
    return rf"\&{text}" if text.startswith((".", "'")) else text
