# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout``: what is where in a struct."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.maps import DRAWN, MOST_MAPS, chosen_format, format_, refuse_many, write_maps
from linesmith.analyzer.cli.settled import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.cli.analysis import Analysis
    from linesmith.analyzer.layouts.collection import Layouts
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.line_map.heat import RecordHeat
    from linesmith.analyzer.model import Layout, LineMap
    from linesmith.analyzer.report.pahole import LayoutNotes


# The options of ``layout`` that draw records as maps of cache lines, and the way from them to the maps.

# Lines of a profile that are looked at where no single type is asked for.
LOOKED_AT = 200

_OPTIONS = (
    click.option(
        "--profile",
        metavar="PROFILE",
        type=options.PROFILE_PATH,
        help="Draw the cache lines with who was seen to touch the members, and how hot these are, in PROFILE.",
    ),
    options.section,
    options.snapshot,
    options.other_build,
    click.option(
        "--phase",
        metavar="BYTES",
        type=click.IntRange(0, 127),
        help="Draw an object that starts so far into a line; without it as most contended ones lie, else at 0.",
    ),
    format_,
)


@dataclass(frozen=True, slots=True)
class Drawing:
    """What was asked for: ``profile`` to colour by, and the ``phase`` that objects have (``None``: as they lie)."""

    format: str
    profile: Path | None = None
    section: int = 1
    snapshot: Path | None = None
    trust: str | None = None
    phase: int | None = None

    @property
    def asked(self) -> bool:
        """Whether maps are wanted rather than, or beside, the members as text."""
        return self.profile is not None or self.format in DRAWN

    @property
    def drawn(self) -> bool:
        """Whether the maps are all that is shown."""
        return self.asked and self.format != "json"

    def refuse(self, *, access: bool, **others: object) -> None:
        """Raise ``click.UsageError`` for options that were given and say nothing on a map."""
        if access and self.profile:
            raise click.UsageError("--access tells what the code can do, --profile what it was seen to do; give one")
        idle = [f"--{name}" for name, value in others.items() if value]
        if idle and self.drawn:
            raise click.UsageError(
                f"{' and '.join(idle)} cannot be drawn on a map; leave out that, or --profile and --format"
            )


def given(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options to a command, which gets them together as ``drawing``."""

    @wraps(command)
    def gathered(
        *,
        profile: Path | None,
        section: int,
        snapshot: Path | None,
        trust: str | None,
        phase: int | None,
        format_: str | None,
        output: Path | None,
        **others: object,
    ) -> None:
        wanted = chosen_format(format_, output)
        drawing = Drawing(wanted, profile, section, snapshot, trust, phase)
        _refuse_idle(drawing)
        command(drawing=drawing, output=output, **others)

    for option in reversed(_OPTIONS):
        gathered = option(gathered)
    return gathered


def _refuse_idle(drawing: Drawing) -> None:
    """An option that would change nothing is a mistake."""
    if drawing.profile is None and (drawing.snapshot or drawing.trust):
        raise click.UsageError("--snapshot, --by-symbol and --assume-same-layout are about a profile; give --profile")
    if drawing.profile is None and is_given("section"):
        raise click.UsageError("--section is which report of a profile; give --profile")
    if not drawing.asked and drawing.phase is not None:
        raise click.UsageError("--phase is where an object is drawn; give --profile, or --format map")


def maps_of(
    elf: Path,
    reading: Reading,
    chosen: Sequence[Layout],
    types: Sequence[str],
    drawing: Drawing,
    accesses: AccessMap | None = None,
) -> tuple[tuple[Layout, ...], tuple[LineMap, ...]]:
    """The chosen records with their maps; with a profile and no type or a pattern, those that were seen touched.

    No maps where none were asked for.

    Raises what ``analysis.analyse`` raises, ``click.UsageError`` for too many records, ``NothingToSuggest`` where the
    profile touches none of several.
    """
    if not drawing.asked:
        return tuple(chosen), ()
    from linesmith.analyzer.line_map.heat import NO_HEAT
    from linesmith.analyzer.line_map.record_map import line_map  # imports numpy, which layouts do without

    layouts = reading.layouts
    if drawing.profile is not None:
        heats = _heats(elf, drawing.profile, reading, chosen, types, drawing)
    else:
        refuse_many(len(chosen))
        heats = [(one, _code_heat(one, layouts, accesses) if accesses else NO_HEAT) for one in chosen]
    told = "counts are instructions in the code" if accesses else ""
    maps = (line_map(one, layouts, heat, drawing.phase, caption=_caption(heat, drawing) or told) for one, heat in heats)
    return tuple(one for one, _ in heats), tuple(maps)


def _code_heat(layout: Layout, layouts: Layouts, accesses: AccessMap) -> RecordHeat:
    from linesmith.analyzer.line_map.heat import code_heat  # imports numpy, which maps do without

    return code_heat(layout, layouts, accesses)


def _caption(heat: RecordHeat, drawing: Drawing) -> str:
    if drawing.profile is None:
        return ""
    where = drawing.profile.name if drawing.profile != Path("/dev/stdin") else "standard input"
    return f"{heat.contended:,} contended samples of it in {where}"


def _heats(
    elf: Path, profile: Path, reading: Reading, chosen: Sequence[Layout], types: Sequence[str], drawing: Drawing
) -> list[tuple[Layout, RecordHeat]]:
    """The records with their heat; several only where they were seen touched, the hottest first."""
    from linesmith.analyzer.base.errors import NothingToSuggest
    from linesmith.analyzer.line_map.heat import heat_of

    names = {one.name for one in chosen} if types else set()
    alone = names.pop() if len(names) == 1 else None
    found = _analysed(elf, profile, alone, drawing)
    sampled, findings = (found.profile, found.findings) if found else (None, ())
    worth = chosen if found is None or (types and len(chosen) <= MOST_MAPS) else _named(chosen, found)
    heats = [(one, heat_of(one, reading.layouts, findings, sampled)) for one in worth]
    if alone:
        return heats
    touched = sorted((pair for pair in heats if pair[1].spots), key=lambda pair: -pair[1].contended)
    if not touched:
        raise NothingToSuggest(f"nobody was seen to touch any of these records in {profile}; see linesmith hot")
    return touched[:MOST_MAPS]


def _named(chosen: Sequence[Layout], found: Analysis) -> list[Layout]:
    """Those that findings name; what is held in them is asked for by name."""
    named = {thing.layout for one in found.findings for thing in one.objects}
    return [one for one in chosen if one.id in named]


def _analysed(elf: Path, profile: Path, wanted: str | None, drawing: Drawing) -> Analysis | None:
    """The findings; none, and a remark that says so, where no line holds the record that was asked for."""
    from linesmith.analyzer.base.errors import NothingToSuggest
    from linesmith.analyzer.cli.analysis import analyse, with_offsets
    from linesmith.analyzer.cli.output import remark

    try:
        top = None if wanted else LOOKED_AT
        return with_offsets(analyse(elf, profile, drawing.section, wanted, top, drawing.snapshot, drawing.trust))
    except NothingToSuggest as error:
        remark(str(error))
        return None


@click.command()
@options.elf
@options.types
@click.option("--expand", is_flag=True, help="Write named nested records out where they are used.")
@click.option("--access", is_flag=True, help="Write beside each member which functions read and write it.")
@premises.scanning_given
@given
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    expand: bool,
    access: bool,
    sources: premises.Sources,
    drawing: Drawing,
    output: Path | None,
) -> None:
    """Show the layout of structs and unions: members, holes, padding, cache lines.

    TYPE is a name (tcp_sock, "struct tcp_sock") or a pattern (tcp_*); without any, every record is shown. With --tree,
    the code that relies on the order of the members is shown as well. With --profile, or as map, svg, png or markdown,
    each record is drawn to scale, one row for a cache line; a profile colours it.
    """
    from linesmith.analyzer.cli.analysis import load, load_accesses
    from linesmith.analyzer.layouts.collection import select

    drawing.refuse(expand=expand, access=access, tree=sources.tree)
    reading = load(elf)
    chosen = select(reading.layouts, types)
    accesses = load_accesses(elf).accesses if access else None
    shown, maps = maps_of(elf, reading, chosen, types, drawing, accesses)
    if drawing.drawn:
        write_maps([(one,) for one in maps], drawing.format, output)
        return
    scans = premises.scan_layouts(sources, shown, types)
    if drawing.format == "json":
        from linesmith.analyzer.report import layout as layout_json

        text = layout_json.render_json(shown, reading, accesses, scans, maps)
    else:
        from linesmith.analyzer.report import pahole

        behind = _notes(accesses) if accesses else pahole.no_notes
        text = pahole.render_text(shown, reading.layouts, expand, behind) + premises.told(scans)
    options.write(text, output)


def _notes(accesses: AccessMap) -> LayoutNotes:
    """What is written behind the members of a record."""
    from linesmith.analyzer.report.access import access_notes  # imports numpy, which layouts do without

    return partial(access_notes, accesses=accesses)
