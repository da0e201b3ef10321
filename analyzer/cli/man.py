# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith man``: the manual, for those who package linesmith or want to read it in a pager."""

from __future__ import annotations

import os
import re
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from linesmith.analyzer.base import files
from linesmith.analyzer.base.errors import OutputError
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.group import LazyGroup
from linesmith.analyzer.cli.settings import FILES, VARIABLES, setting_of, variables


@click.command()
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the pages into DIR, which is made if it is not there.",
)
def command(output: Path) -> None:
    """Write a man page for each command, of the same text that its --help shows.

    They are for section 1 of the manual, such as /usr/local/share/man/man1. With SOURCE_DATE_EPOCH set, the pages bear
    that date instead of today's.
    """
    root = click.get_current_context().find_root().command
    made = dict(pages(root, _date())) if isinstance(root, LazyGroup) else {}
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name, page in made.items():
            files.replace_file(output / name, page.encode())
    except OSError as error:
        raise OutputError(f"cannot write {error.filename}: {error.strerror}; name another folder with -o") from error
    click.echo(visible(f"{output}: {len(made)} pages"))


def _date() -> int:
    """Seconds since 1970. See reproducible-builds.org, SOURCE_DATE_EPOCH."""
    import time

    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(given) if given.isdecimal() else int(time.time())


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


# A man page for each command, from the very text that ``--help`` shows.

_STATUS = (
    ("0", "It is done."),
    ("1", "It is done, and there is something to look at, such as a difference or a violation."),
    ("2", "An error: a line on standard error says what is wrong and what to do next."),
)


def pages(root: LazyGroup, seconds: int) -> Iterator[tuple[str, str]]:
    """File names and pages of the program and of every command; ``seconds`` since 1970 is the date they bear."""
    date = time.strftime("%Y-%m-%d", time.gmtime(seconds))
    with click.Context(root, info_name="linesmith", **root.context_settings) as context:
        yield (
            "linesmith.1",
            _page(context, date, [*_commands(context, root), *_surroundings()], _others(root.list_commands(context))),
        )
        for names in root.command_groups.values():
            for name in names:
                command = root.get_command(context, name)
                if command is not None:
                    below = command.context_class(command, info_name=name, parent=context)
                    others = ("linesmith(1)", *_others(other for other in names if other != name))
                    yield f"linesmith-{name}.1", _page(below, date, _variables(below), others)


def _page(context: click.Context, date: str, further: Sequence[str], others: Sequence[str]) -> str:
    from importlib.metadata import version

    command, name = context.command, context.command_path.replace(" ", "-")
    release = f"linesmith {version('linesmith')}"
    usage = " ".join(literal(piece) for piece in command.collect_usage_pieces(context))
    lines = [
        rf'.TH "{literal(name.upper())}" 1 "{date}" "{release}" "linesmith"',
        ".SH NAME",
        wrapped(rf"{literal(name)} \- {literal(_summary(command))}"),
        ".SH SYNOPSIS",
        wrapped(f"{bold(context.command_path)} {usage}"),
        ".SH DESCRIPTION",
        paragraphs(command.help or ""),
        *_options(context),
        *further,
        ".SH EXIT STATUS",
        *(row for status, meaning in _STATUS for row in (".TP", bold(status), prose(meaning))),
        ".SH SEE ALSO",
        ",\n".join(map(_reference, others)),
    ]
    return "\n".join(lines) + "\n"


def _summary(command: click.Command) -> str:
    return " ".join(command.get_short_help_str(limit=300).replace("`", "").split()).removesuffix(".")


def _options(context: click.Context) -> Iterator[str]:
    """The option list as the help has it."""
    yield ".SH OPTIONS"
    for param in context.command.get_params(context):
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record:
            yield from (".TP", bold(record[0]), prose(record[1]))


def _variables(context: click.Context) -> list[str]:
    """The variables that stand for options of the command."""
    command = context.info_name or ""
    found = [(setting, param) for param in context.command.params if (setting := setting_of(command, param))]
    if not found:
        return []
    rows = [".SH ENVIRONMENT"]
    for setting, param in found:
        rows += [
            ".TP",
            ", ".join(map(bold, variables(command, setting))),
            prose(f"Stands for {max(param.opts, key=len)}."),
        ]
    return rows


def _surroundings() -> Iterator[str]:
    """Variables and files that are not of one command."""
    for title, told in (("ENVIRONMENT", VARIABLES), ("FILES", FILES)):
        yield f".SH {title}"
        for one in told:
            yield from (".TP", bold(one.name), prose(one.meaning))


def _commands(context: click.Context, root: LazyGroup) -> list[str]:
    rows = [".SH COMMANDS"]
    for title, names in root.command_groups.items():
        rows.append(f".SS {title}")
        for name in names:
            command = root.get_command(context, name)
            if command is not None:
                rows += [".TP", _reference(f"linesmith-{name}(1)"), prose(command.get_short_help_str(limit=300))]
    return rows


def _others(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"linesmith-{name}(1)" for name in names)


def _reference(page: str) -> str:
    name, _, section = page.partition("(")
    return f"{bold(name)}({section}"
