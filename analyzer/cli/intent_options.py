# SPDX-License-Identifier: GPL-2.0-or-later
"""The options of ``linesmith intent``, gathered: which of its questions is asked, and where answers go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import deadlines, options

if TYPE_CHECKING:
    from linesmith.patches.deadline import Deadline

_PATH = click.Path(exists=True, path_type=Path)
_READ = click.Path(exists=True, dir_okay=False, path_type=Path)
_DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
_NEEDS = {
    "from": "--from needs ELF and TYPE, as in `linesmith intent vmlinux inode --from c2c.txt`",
    "check": "--check needs ELF and no TYPE, as in `linesmith intent vmlinux --check`",
    "update": "--update needs ELF and no TYPE, as in `linesmith intent vmlinux --update`",
    "import": "--import names the tree or the ELF file itself; leave out ELF and TYPE",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked; one of ``origin``, ``check``, ``update`` and ``imported`` is given."""

    elf: Path | None
    type_: str | None
    origin: Path | None
    check: bool
    update: bool
    imported: Path | None
    into: Path | None
    section: int
    snapshot: Path | None
    trust: str | None
    tree: Path | None
    intent: Path | None
    kconfig: Path | None
    base: Path | None
    tighten: bool
    deadline: Deadline
    output: Path | None

    def require_sense(self) -> None:
        """Raise ``click.UsageError`` for what makes no question."""
        given = {"from": self.origin, "check": self.check, "update": self.update, "import": self.imported}
        asked = [name for name, one in given.items() if one]
        if len(asked) != 1:
            raise click.UsageError("say one of --from, --check, --update and --import; see `linesmith intent --help`")
        expected = (asked[0] != "import", asked[0] == "from")
        if (self.elf is not None, self.type_ is not None) != expected:
            raise click.UsageError(_NEEDS[asked[0]])
        if (self.base or self.tighten) and not self.update:
            option = "--base" if self.base else "--tighten"
            raise click.UsageError(f"{option} says how --update goes about it; add --update, or leave {option} out")
        if self.into and self.update and self.intent:
            raise click.UsageError("--into and --intent both name the file to update; leave out one of them")
        if self.into and (self.check or self.output):
            other = "-o" if self.output else "--check"
            raise click.UsageError(f"--into adds what is written to a file, {other} does not; leave out one of them")


_OPTIONS = (
    click.argument("elf", metavar="[ELF]", required=False, type=_READ),
    click.argument("type_", metavar="[TYPE]", required=False),
    click.option(
        "--from", "origin", metavar="PROFILE|RUN", type=_PATH, help="Write what a profile, or a run of `tune`, shows."
    ),
    click.option("--check", is_flag=True, help="Hold every entry of linesmith.toml against ELF."),
    click.option(
        "--update",
        is_flag=True,
        help="Show what linesmith.toml has to say for ELF to keep its limits; --into writes it.",
    ),
    click.option(
        "--base", metavar="OLD", type=_READ, help="The build before the change: --update follows what it renamed."
    ),
    click.option("--tighten", is_flag=True, help="Let --update lower limits to what ELF has, too."),
    click.option(
        "--import",
        "imported",
        metavar="TREE|ELF",
        type=_PATH,
        help="Write the groups that C code asserts or ELF marks.",
    ),
    click.option(
        "--into",
        metavar="FILE",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Add what is written at the end of FILE, which keeps all it has; it is made where it is not there.",
    ),
    options.section,
    options.snapshot,
    options.other_build,
    click.option("--tree", metavar="DIR", type=_DIRECTORY, help="Where linesmith.toml is, for --check and --update."),
    click.option("--intent", metavar="FILE", type=_READ, help="The file to check or update instead of that in --tree."),
    click.option("--kconfig", metavar="FILE", type=_READ, help="The .config, where ELF or TREE has none of its own."),
    deadlines.given,
    options.output,
)


def given(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options to a command, which gets them together as ``asked``."""

    @wraps(command)
    def gathered(
        *,
        elf: Path | None,
        type_: str | None,
        origin: Path | None,
        check: bool,
        update: bool,
        imported: Path | None,
        into: Path | None,
        section: int,
        snapshot: Path | None,
        trust: str | None,
        tree: Path | None,
        intent: Path | None,
        kconfig: Path | None,
        base: Path | None,
        tighten: bool,
        deadline: Deadline,
        output: Path | None,
        **others: object,
    ) -> int:
        read = section, snapshot, trust, tree, intent, kconfig, base, tighten, deadline
        return command(asked=Asked(elf, type_, origin, check, update, imported, into, *read, output), **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered
