# SPDX-License-Identifier: GPL-2.0-or-later
"""Answers the questions of ``linesmith intent``, and puts the answers where they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from linesmith.analyzer.base.visible import visible
from linesmith.analyzer.cli import options
from linesmith.analyzer.cli.intent_options import Asked
from linesmith.analyzer.cli.kernels import Running
from linesmith.analyzer.cli.output import deliver
from linesmith.analyzer.cli.premises import Given
from linesmith.analyzer.cli.remarks import remark
from linesmith.analyzer.intent import written
from linesmith.analyzer.intent.kept import add_to, put
from linesmith.analyzer.model import Intent, Severity, TypeIntent


def answered(asked: Asked, given: Given) -> int:
    """The exit status; raises what the questions raise."""
    if asked.imported is not None:
        from linesmith.analyzer.cli.intent_import import imported

        with asked.deadline.running():
            found = imported(asked.imported, asked.kconfig)
        return _write(found, asked)
    if asked.elf is None:
        return 0  # the options make sense, so this is not met
    if asked.check:
        return _check(asked.elf, asked, given)
    if asked.update:
        return _update(asked.elf, asked, given)
    return _write_observed(asked.elf, asked, given)


def _write_observed(elf: Path, asked: Asked, given: Given) -> int:
    from linesmith.analyzer.cli.intending import Origin, intended

    if asked.origin is None or asked.type_ is None:
        return 0
    origin = Origin(asked.origin, asked.section, asked.snapshot, asked.trust)
    return _write((intended(elf, asked.type_, origin, given),), asked)


def _update(elf: Path, asked: Asked, given: Given) -> int:
    """1 where something is out of date and nothing was written."""
    from linesmith.analyzer.cli.intent_updating import Wish, updated

    running = Running(given.cpus, given.page_bytes, given.release, given.slabinfo)
    wish = Wish(asked.tree, asked.into or asked.intent, asked.kconfig, asked.base, asked.tighten)
    found = updated(elf, wish, running)
    for sentence in found.remarks:
        remark(sentence)
    click.echo(visible(found.diff.replace("\r\n", "\n")), nl=False)
    if asked.into is not None and found.diff:
        put(asked.into, found.text)
    elif asked.output is not None:
        deliver(found.text.encode(), asked.output)  # a file of the user, exact to the byte
    return int(bool(found.diff) and not (asked.into or asked.output))


def _check(elf: Path, asked: Asked, given: Given) -> int:
    from linesmith.analyzer.cli.intent_checking import check
    from linesmith.analyzer.report.lint_text import render_text

    running = Running(given.cpus, given.page_bytes, given.release, given.slabinfo)
    report = check(elf, asked.tree, asked.intent, asked.kconfig, running)
    options.write(render_text(report), asked.output)
    return int(any(one.severity is not Severity.NOTE for one in report.violations))


def _write(types: Sequence[TypeIntent], asked: Asked) -> int:
    if asked.into is not None:
        add_to(asked.into, types)
    else:
        options.write(written(Intent(types=tuple(types))), asked.output)
    return 0
