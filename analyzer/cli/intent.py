# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith intent``: what the layout of a record is for, written down, checked, or taken from what marks it."""

from __future__ import annotations

import click

from linesmith.analyzer.cli import intent_options, premises


@click.command()
@intent_options.given
@premises.given
def command(asked: intent_options.Asked, given: premises.Given) -> int:
    """Say what the layout of TYPE in ELF is for, as linesmith.toml has it and `linesmith lint` guards it.

    --from calls the members that a profile shows hot, read-mostly or write-hot, has those isolated that the
    recommended change parts (or the best variant of a run), and sets a soft limit to the size. --check holds every
    entry of the file against ELF: exit status 1 tells of entries to mend. --update shows what the file has to say for
    ELF to keep its limits. --import takes groups from assertions in C code, or from the markers in an ELF file.
    """
    from linesmith.analyzer.cli.intent_answers import answered

    asked.require_sense()
    return answered(asked, given)
