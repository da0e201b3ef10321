# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith man``: the manual, for those who package linesmith or want to read it in a pager.

A page is source of man(7), made of the very text that ``--help`` shows.
"""

from __future__ import annotations

import os
import re
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.group import LazyGroup
from linesmith.analyzer.cli.options import NEW_DIRECTORY
from linesmith.analyzer.cli.settings import settings_in, variables

_STATUS = (
    ("0", "Success, also if there is nothing to do."),
    ("1", "Differences, violations, something made worse, obstacles, nothing measured, a part missing, or time over."),
    ("2", "Error: one line on standard error says what is wrong and what to do next."),
    ("130", "Interrupted."),
    ("other", "Of `record` alone: the status of its command."),
)
_ENVIRONMENT = "Variables and files can set options: `linesmith config` lists them with the values that they have now."


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
    date = time.strftime("%Y-%m-%d", time.gmtime(int(given) if given.isdecimal() else None))
    made = dict(_pages(root, date)) if isinstance(root, LazyGroup) else {}
    output.mkdir(parents=True, exist_ok=True)
    for name, page in made.items():
        files.replace_file(output / name, page.encode())
    click.echo(visible(f"{output}: {len(made)} pages"))


def _pages(root: LazyGroup, date: str) -> Iterator[tuple[str, str]]:
    """File names and pages of the program and of every command."""
    with click.Context(root, info_name="linesmith", **root.context_settings) as context:
        known = root.list_commands(context)
        further = [".SH COMMANDS", *_commands(context, root), ".SH ENVIRONMENT", _prose(_ENVIRONMENT)]
        yield "linesmith.1", _page(context, date, further, [f"linesmith-{one}" for one in known])
        for names in root.command_groups.values():
            for name in names:
                if (command := root.get_command(context, name)) is not None:
                    below = command.context_class(command, info_name=name, parent=context)
                    others = ["linesmith", *(f"linesmith-{one}" for one in names if one != name)]
                    yield f"linesmith-{name}.1", _page(below, date, list(_variables(below)), others)


def _page(context: click.Context, date: str, further: Sequence[str], others: Sequence[str]) -> str:
    from importlib.metadata import version

    command, name = context.command, context.command_path.replace(" ", "-")
    usage = " ".join(_literal(piece) for piece in command.collect_usage_pieces(context))
    summary = command.get_short_help_str(limit=300).replace("`", "").removesuffix(".")
    helped = (one.get_help_record(context) for one in command.get_params(context) if isinstance(one, click.Option))
    lines = [
        rf'.TH "{_literal(name.upper())}" 1 "{date}" "linesmith {version("linesmith")}" "linesmith"',
        ".SH NAME",
        _wrapped(rf"{_literal(name)} \- {_literal(summary)}"),
        ".SH SYNOPSIS",
        _wrapped(f"{_bold(context.command_path)} {usage}"),
        ".SH DESCRIPTION",
        _paragraphs(command.help or ""),
        ".SH OPTIONS",
        *_entries(record for record in helped if record),
        *further,
        ".SH EXIT STATUS",
        *_entries(_STATUS),
        ".SH SEE ALSO",
        ",\n".join(f"{_bold(one)}(1)" for one in others),
    ]
    return "\n".join(lines) + "\n"


def _entries(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Names with their meanings."""
    for name, meaning in entries:
        yield from (".TP", _bold(name), _prose(meaning))


def _variables(context: click.Context) -> Iterator[str]:
    """The variables that stand for options of the command."""
    name = context.info_name or ""
    settings = list(settings_in(context.command, name))
    if settings:
        yield ".SH ENVIRONMENT"
    for param, setting in settings:
        yield from (".TP", ", ".join(map(_bold, variables(name, setting))), _prose(f"Sets {max(param.opts, key=len)}."))


def _commands(context: click.Context, root: LazyGroup) -> Iterator[str]:
    for title, names in root.command_groups.items():
        yield f".SS {title}"
        found = ((name, root.get_command(context, name)) for name in names)
        yield from _entries((f"linesmith {name}", one.get_short_help_str(limit=300)) for name, one in found if one)


# Text of help as source of man(7).

_LITERAL = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})
_PROSE = str.maketrans({"\\": r"\e", "^": r"\(ha", "~": r"\(ti"})
_COLUMNS = 78
_CODE = re.compile(r"`([^`]+)`|(?<![\w-])(--?[a-z][\w-]*)")
# click's mark of lines to leave as they are.
_AS_IT_IS = "\b"


def _literal(text: str) -> str:
    """What a user types or reads letter by letter."""
    return _line(text.translate(_LITERAL))


def _bold(text: str) -> str:
    return rf"\fB{text.translate(_LITERAL)}\fR"


def _prose(text: str) -> str:
    """A paragraph on lines of its own; what stands in backquotes and names of options are set off."""
    joined = " ".join(text.split())
    parts, at = [], 0
    for found in _CODE.finditer(joined):
        parts += [joined[at : found.start()].translate(_PROSE), _bold(found[1] or found[2])]
        at = found.end()
    return _wrapped("".join((*parts, joined[at:].translate(_PROSE))))


def _wrapped(source: str) -> str:
    """Source of running text, on lines that people can read."""
    lines = textwrap.wrap(source, _COLUMNS, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(_line, lines))


def _paragraphs(help_: str) -> str:
    """The help of a command: paragraphs, and blocks of lines that stay as they are."""
    made = []
    for block in re.split(r"\n\s*\n", textwrap.dedent(help_).strip("\n")):
        if block.lstrip(" ").startswith(_AS_IT_IS):
            lines = textwrap.dedent(block.partition("\n")[2]).splitlines()
            made += [".PP", ".RS 4", ".EX", *map(_literal, lines), ".EE", ".RE"]
        else:
            made += [".PP", _prose(block)]
    return "\n".join(made[1:])


def _line(text: str) -> str:
    """A line of text that begins like a request is none."""
    return rf"\&{text}" if text.startswith((".", "'")) else text
