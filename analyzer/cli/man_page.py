# SPDX-License-Identifier: GPL-2.0-or-later
"""A man page for each command, from the very text that ``--help`` shows."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version

import click

from linesmith.analyzer.cli.environment import FILES, VARIABLES
from linesmith.analyzer.cli.group import LazyGroup
from linesmith.analyzer.cli.roff import bold, literal, paragraphs, prose, wrapped
from linesmith.analyzer.cli.settings import setting_of, variables

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
