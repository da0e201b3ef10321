# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and options that commands share: one name and one meaning everywhere."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click
from click.core import ParameterSource

from linesmith.analyzer.base.errors import DeadlinePassed
from linesmith.analyzer.base.text import visible
from linesmith.analyzer.cli.output import deliver, drawn_text, text_columns
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.model import LineMap
    from linesmith.patches.matrix.choice import MatrixRequest
    from linesmith.patches.source.tree import Tree


_Result = TypeVar("_Result", int, None)

# Types of parameters: what a command reads, and what it writes.
EXISTING = click.Path(exists=True, path_type=Path)
EXISTING_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
EXISTING_OR_STDIN = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
NEW_DIRECTORY = click.Path(file_okay=False, path_type=Path)


def gathered(
    name: str, make: Callable[..., object], *added: Callable[..., Callable[..., object]]
) -> Callable[[Callable[..., _Result]], Callable[..., _Result]]:
    """Adds options to a command, which gets what ``make`` makes of their values as its parameter ``name``.

    The parameters of ``make`` are called like those of the options that are ``added``; these are listed in their order.
    """
    taken = tuple(signature(make).parameters)

    def decorate(command: Callable[..., _Result]) -> Callable[..., _Result]:
        @wraps(command)
        def with_options(**values: object) -> _Result:
            made = make(**{one: values.pop(one) for one in taken})
            return command(**{name: made}, **values)

        decorated: Callable[..., object] = with_options
        for option in reversed(added):
            decorated = option(decorated)
        return decorated  # type: ignore[return-value]

    return decorate


elf = click.argument("elf", metavar="ELF", type=EXISTING_FILE)
tree = click.option("--tree", metavar="DIR", type=DIRECTORY, required=True, help="Source tree (read-only).")
build = click.option("--build", metavar="DIR", type=DIRECTORY, help="Build directory of the tree (O=).")
cflags = click.option("--cflags", metavar="OPTIONS", default="", help="Compiler options; not for a kernel.")
elves = click.argument("elves", metavar="ELF...", nargs=-1, required=True, type=EXISTING_FILE)


class ProfilePath(click.Path):
    """An existing file, or ``-`` for standard input."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """The path, ``-`` as the file that standard input is."""
        path: Path = super().convert(value, param, ctx)  # type: ignore[arg-type, assignment]
        return Path("/dev/stdin") if path == Path("-") else path


PROFILE_PATH = ProfilePath(exists=True, dir_okay=False, allow_dash=True, path_type=Path)
profile = click.argument("profile", metavar="PROFILE", type=PROFILE_PATH)
before = click.argument("before", metavar="BEFORE", type=PROFILE_PATH)
after = click.argument("after", metavar="AFTER", type=PROFILE_PATH)
after_elf = click.option(
    "--after-elf",
    metavar="ELF",
    type=EXISTING_FILE,
    help="Build that AFTER was recorded on, if its layouts differ from those of ELF.",
)
types = click.argument("types", metavar="[TYPE]...", nargs=-1)
type_ = click.option("--type", "type_", metavar="TYPE", help="Only cache lines that hold this record or variable.")
section = click.option(
    "--section",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Use the Nth report in the file.",
)
after_section = click.option(
    "--after-section",
    metavar="N",
    type=click.IntRange(min=1),
    help="Use the Nth report in AFTER. Default: --section, or the next one if BEFORE and AFTER are the same file.",
)
format_ = click.option(
    "--format", "format_", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output format."
)
snapshot = click.option(
    "--snapshot",
    metavar="FILE",
    type=EXISTING_FILE,
    help="Snapshot of the profiled kernel's objects, from `linesmith snapshot`.",
)


def other_build(command: Callable[..., None]) -> Callable[..., None]:
    """Two flags that say what to go by where a profile and its ELF file are of different builds."""
    layout = click.option(
        "--assume-same-layout",
        "trust",
        flag_value="layout",
        help="ELF is another build than the profiled one with the same addresses: match by address.",
    )
    symbols = click.option(
        "--by-symbol",
        "trust",
        flag_value="symbols",
        help="ELF is another build than the profiled one: match by function name only.",
    )
    return layout(symbols(command))


@dataclass(frozen=True, slots=True)
class EvidenceOptions:
    """What explains a profile: which report of its file, whose objects, and what to ``trust`` in another build."""

    section: int = 1
    snapshot: Path | None = None
    trust: str | None = None


FIRST_REPORT = EvidenceOptions()
evidence_given = gathered("evidence", EvidenceOptions, section, snapshot, other_build)

slabinfo = click.option(
    "--slabinfo",
    metavar="PATH",
    type=EXISTING,
    help="Slab caches of the running kernel: /sys/kernel/slab, or the output of grep -s . /sys/kernel/slab/*/*.",
)

PAGES = {"4K": 4096, "16K": 16384, "64K": 65536}
cpus = click.option(
    "--cpus",
    metavar="N",
    type=click.IntRange(1, 1 << 16),
    default=64,
    show_default=True,
    help="Number of CPUs; the size of slabs depends on it.",
)
page_size = click.option(
    "--page-size", type=click.Choice(list(PAGES)), default="4K", show_default=True, help="Page size."
)
kernel = click.option("--kernel", metavar="X.Y", help="Kernel release to assume if ELF does not name one.")


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """The machine that the layouts are judged for: CPUs, bytes of a page, and its kernel.

    ``release`` is ``None`` where the ELF file has to tell it, ``slabinfo`` is what the kernel says of its slab caches.
    """

    cpus: int
    page_bytes: int
    release: str | None = None
    slabinfo: Path | None = None


USUAL_MACHINE = MachineOptions(64, PAGES["4K"])


def _machine(cpus: int, page_size: str, kernel: str | None, slabinfo: Path | None) -> MachineOptions:
    return MachineOptions(cpus, PAGES[page_size], kernel, slabinfo)


machine_given = gathered("machine", _machine, cpus, page_size, kernel, slabinfo)
dry_run = click.option("--dry-run", is_flag=True, help="Print the commands without running them.")
trace = click.option(
    "--trace",
    metavar="FILE",
    type=EXISTING_FILE,
    help="Trace to replay candidates on, from `linesmith record`.  [default: PROFILE.trace]",
)
output = click.option(
    "-o", "--output", metavar="FILE", type=NEW_FILE, help="Write the result to FILE (replaced if it exists)."
)
# What says how a profile is explained, and what candidates rest on: the next command takes these as well.
_EXPLAINING = ("section", "snapshot", "trust", "trace", "cpus", "page_size", "kernel", "slabinfo")
EXPLAINED = ("section", "snapshot", "trust")
_PROPOSING = ("growth", "constraints", "configurations", "tree", "build", "deadline")


def words_to_go_on(
    elf: Path, profile: Path, names: Container[str | None] = (*_EXPLAINING, *_PROPOSING)
) -> tuple[str, ...]:
    """The files, and the options of this command line that the next command for the same profile takes as well.

    ``names`` are those of such options; what only says which report is explained is in ``EXPLAINED``.
    """
    context = click.get_current_context()
    words = [str(elf), str(profile)]
    for one in context.command.params:
        value = context.params.get(one.name or "")
        if not isinstance(one, click.Option) or one.name not in names or value is None:
            continue
        if one.is_flag:
            words += [one.opts[-1]] if value == one.flag_value else []
        elif is_given(one.name):
            for each in value if one.multiple else (value,):
                words += [one.opts[-1], str(each)]
    return tuple(words)


def basis_given(context: click.Context) -> dict[str, object]:
    """What options and settings say of what candidates rest on, by parameter; a deadline only where a tree is read."""
    named, usual = (*_EXPLAINING[3:], *_PROPOSING[: None if context.params["tree"] else -2]), ParameterSource.DEFAULT
    return {one: context.params[one] for one in named if context.get_parameter_source(one) is not usual}


html = click.option(
    "--html", metavar="FILE", type=NEW_FILE, help="Write a self-contained HTML page to FILE (replaced if it exists)."
)


def write_page(text: str, destination: Path) -> None:
    """Put a page where ``--html`` says; raises ``OutputError`` where that cannot be done."""
    deliver(text.encode("utf-8", "backslashreplace"), destination, ("html",))


def write_shown(text: str, format_: str, destination: Path | None) -> None:
    """The same of a result in ``format_``: what is text for people is made as wide as it is shown."""
    from linesmith.analyzer.report.prose import fitted

    write(fitted(text, text_columns(destination)) if format_ == "text" else text, destination)


def write(text: str, destination: Path | None) -> None:
    """Put ``text`` where ``-o`` says, or print it; raises ``OutputError`` where that cannot be done."""
    deliver(visible(text).encode("utf-8", "backslashreplace"), destination)


# The formats that draw cache lines, and how maps get to the terminal or into a file.

# Maps or pairs of them in one result; more cannot be looked at.
MOST_MAPS = 40
DRAWN = ("map", "svg")
_OTHER_PICTURES = frozenset((".bmp", ".gif", ".jpeg", ".jpg", ".pdf", ".png", ".webp"))
map_format = click.option(
    "--format",
    "format_",
    type=click.Choice(("text", "json", *DRAWN)),
    help="Output format. Default: text, or svg by the suffix of -o. map and svg draw cache lines.",
)


def chosen_format(requested: str | None, destination: Path | None) -> str:
    """What ``--format`` says on the command line, then the name of the file, then what is set for all commands.

    Raises ``click.UsageError`` for the name of a picture that is not drawn.
    """
    suffix = destination.suffix.lower() if destination else ""
    given = is_given("format_")
    if suffix in _OTHER_PICTURES and not given:
        raise click.UsageError(f"cannot draw {suffix}; name a file that ends in .svg with -o")
    return "svg" if suffix == ".svg" and not given else requested or "text"


def refuse_many(count: int) -> None:
    """Raise ``click.UsageError`` for more maps than anybody looks at."""
    if count > MOST_MAPS:
        raise click.UsageError(f"{count:,} records exceed the limit of {MOST_MAPS} maps; name a TYPE")


def write_maps(groups: Sequence[Sequence[LineMap]], drawn_as: str, destination: Path | None) -> None:
    """Put the maps where ``-o`` says; a group is one map, or two of a change. Raises ``OutputError``."""
    if drawn_as == "svg":
        from linesmith.analyzer.report.map_svg import line_maps_svg

        write(line_maps_svg([one for group in groups for one in group]), destination)
    else:
        deliver(drawn_text(groups, destination), destination)


# The option of all commands that read or compile sources: how long that may take, and what is printed past it.

_DEADLINE = click.option(
    "--deadline",
    metavar="SECONDS",
    type=click.IntRange(min=1),
    default=300,
    show_default=True,
    help="Time limit for reading and compiling sources; exit status 1 if work is left.",
)
_SCHEMA_VERSION = 1


def deadline_given(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Add ``--deadline`` to a command, which gets a ``Deadline`` as ``deadline``.

    Where it passes before the command has a result, and that was to be JSON, JSON says so in the result's place.
    """

    @wraps(command)
    def counted(*, deadline: float, **others: object) -> _Result:
        from linesmith.analyzer.base.errors import Deadline

        try:
            return command(deadline=Deadline(deadline), **others)
        except DeadlinePassed as error:
            import json

            given = click.get_current_context().params
            if given.get("format_") == "json":
                place = given.get("output")
                # What is no path is a place of patches; JSON goes to none that is a folder.
                file = place if isinstance(place, Path) else getattr(place, "path", None)
                document = {"schema": _SCHEMA_VERSION, "unjudged": ["the sources"], "remarks": [str(error)]}
                deliver(json.dumps(document, indent=2).encode() + b"\n", file)
            raise

    return _DEADLINE(counted)


# The options of commands that check a change under other configurations and on other machines.

_OWN = ("tree",)


class _CountType(click.ParamType):  # type: ignore[type-arg]
    """A number, or ``all``, which is -1."""

    name = "count"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number; fails on anything else."""
        if isinstance(value, int):
            return value
        if value == "all":
            return -1
        if not str(value).isdecimal():
            self.fail(f"{value!r} is not a number of objects; give one, or 'all'.", param, ctx)
        return int(str(value))


_MATRIX = click.option(
    "--matrix", "all_", is_flag=True, help="Check the change under other configurations and architectures too."
)
ON = click.option(
    "--on",
    metavar="NAME",
    multiple=True,
    help="Configuration to check the change under: a name such as 'arm64', or a .config file. Can be repeated.",
)
_USERS = click.option(
    "--compile-users",
    "users",
    metavar="N|all",
    type=_CountType(),
    default=0,
    help="Compile up to N affected objects per configuration, before and after, and compare the warnings.",
)


@dataclass(frozen=True, slots=True)
class Checking:
    """What a user wants checked: ``all_`` configurations of the tree, those called ``on``; -1 ``users`` are all."""

    all_: bool
    on: tuple[str, ...]
    users: int

    def configurations(self, tree: Tree, file: str, cpus: int | None = None) -> MatrixRequest | None:
        """The configurations by name for a change of ``file`` (relative to the tree); ``None`` where none are wanted.

        Raises ``TreeError`` for a name that this tree does not have.
        """
        if not (self.all_ or self.on or self.users):
            return None
        from linesmith.patches.matrix.check import check_names, matrix
        from linesmith.patches.matrix.choice import MatrixRequest

        names = tuple(dict.fromkeys((*(matrix(tree, file) if self.all_ else ()), *self.on)))
        check_names(tree, file, names)
        users = None if self.users < 0 else self.users
        return MatrixRequest(names or _OWN, users) if cpus is None else MatrixRequest(names or _OWN, users, cpus)


matrix_given = gathered("checking", Checking, _MATRIX, ON, _USERS)
