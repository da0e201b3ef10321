# SPDX-License-Identifier: GPL-2.0-or-later
"""``linesmith layout``: what is where in a struct, as text, as JSON, or drawn as a map of its cache lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from linesmith.analyzer.base.errors import NothingToSuggest
from linesmith.analyzer.cli import options, premises
from linesmith.analyzer.cli.output import remark
from linesmith.analyzer.cli.settings import is_given

if TYPE_CHECKING:
    from linesmith.analyzer.access.access_map import AccessMap
    from linesmith.analyzer.layouts.dwarf import Reading
    from linesmith.analyzer.line_map.fields import MapHeat
    from linesmith.analyzer.model import Layout, LineMap
    from linesmith.analyzer.sharing.analysis import Explanation


# Lines of a profile that are looked at where no single type is asked for.
LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How records are drawn: ``profile`` to colour by, and the ``phase`` that objects have (``None``: as they lie)."""

    format_: str | None
    profile: Path | None
    evidence: options.EvidenceOptions
    phase: int | None

    def refuse_idle(self, *, drawn: bool, alone: bool, access: bool, **others: object) -> None:
        """Raise ``click.UsageError`` for options that would change nothing, as on a map that stands ``alone``."""
        if self.profile is None and (self.evidence.snapshot or self.evidence.trust):
            raise click.UsageError("--snapshot, --by-symbol and --assume-same-layout need a profile; give --profile")
        if self.profile is None and is_given("section"):
            raise click.UsageError("--section needs a profile; give --profile")
        if not drawn and self.phase is not None:
            raise click.UsageError("--phase needs a drawing; give --profile, or --format map")
        if access and self.profile:
            raise click.UsageError("--access and --profile exclude each other; give one")
        idle = [f"--{name}" for name, value in others.items() if value]
        if idle and alone:
            raise click.UsageError(
                f"{' and '.join(idle)} cannot be combined with a map; leave it out, or leave out --profile and --format"
            )


_maps_given = options.gathered(
    "drawing",
    MapOptions,
    click.option(
        "--profile",
        metavar="PROFILE",
        type=options.PROFILE_PATH,
        help="Draw the cache lines, coloured by the accesses in PROFILE.",
    ),
    options.evidence_given,
    click.option(
        "--phase",
        metavar="BYTES",
        type=click.IntRange(0, 127),
        help="Start of the object within a cache line. Default: where most contended objects start, else 0.",
    ),
    options.map_format,
)


@click.command()
@options.elf
@options.types
@click.option("--expand", is_flag=True, help="Expand named nested records in place.")
@click.option("--access", is_flag=True, help="Show which functions read and write each member.")
@premises.scanning_given
@_maps_given
@options.output
def command(
    elf: Path,
    types: tuple[str, ...],
    expand: bool,
    access: bool,
    sources: premises.ScanOptions,
    drawing: MapOptions,
    output: Path | None,
) -> None:
    """Show the layout of structs and unions: members, holes, padding, cache lines.

    TYPE is a name (tcp_sock, "struct tcp_sock") or a pattern (tcp_*). Default: all records. --tree adds the code that
    relies on the member order. With --profile, or with the format map or svg, each record is drawn to
    scale, one row per cache line, coloured by the profile.
    """
    from linesmith.analyzer.cli.analysis import load, load_accesses
    from linesmith.analyzer.layouts.collection import select

    form = options.chosen_format(drawing.format_, output)
    drawn = drawing.profile is not None or form in options.DRAWN
    alone = drawn and form != "json"
    drawing.refuse_idle(drawn=drawn, alone=alone, expand=expand, access=access, tree=sources.tree)
    reading = load(elf)
    shown: tuple[Layout, ...] = select(reading.layouts, types)
    accesses = load_accesses(elf).accesses if access else None
    made: tuple[LineMap, ...] = ()
    if drawn:
        shown, made = maps_of(elf, reading, shown, types, drawing, accesses)
    if alone:
        options.write_maps([(one,) for one in made], form, output)
        return
    scans = premises.scan_layouts(sources, shown, types)
    if form == "json":
        from linesmith.analyzer.report import layout as layout_json

        text = layout_json.render_json(shown, reading, accesses, scans, made)
    else:
        from linesmith.analyzer.report import pahole

        behind = pahole.no_notes
        if accesses:
            from linesmith.analyzer.report.access import access_notes  # imports numpy, which layouts do without

            behind = partial(access_notes, accesses=accesses)
        text = pahole.render_text(shown, reading.layouts, expand, behind)
        if scans:
            from linesmith.analyzer.report.layout import source_text

            text += "".join(f"\n{source_text(one)}" for one in scans)
    options.write(text, output)


def maps_of(
    elf: Path,
    reading: Reading,
    records: Sequence[Layout],
    types: Sequence[str],
    drawing: MapOptions,
    accesses: AccessMap | None = None,
) -> tuple[tuple[Layout, ...], tuple[LineMap, ...]]:
    """The records with their maps; with a profile and no type or a pattern, those that were seen touched.

    Raises what ``analysis.analyse`` raises, ``click.UsageError`` for too many records, ``NothingToSuggest`` where the
    profile touches none of several.
    """
    from linesmith.analyzer.line_map.fields import NO_HEAT, code_heat
    from linesmith.analyzer.line_map.record_map import line_map  # imports numpy, which layouts do without

    layouts = reading.layouts
    caption = "counts are instructions in the code" if accesses else ""
    if drawing.profile is not None:
        where = drawing.profile.name if drawing.profile != Path("/dev/stdin") else "standard input"
        heats = _heats(elf, drawing.profile, reading, records, types, drawing)
        made = [(one, heat, f"{heat.contended:,} contended accesses of it in {where}") for one, heat in heats]
    else:
        options.refuse_many(len(records))
        made = [(one, code_heat(one, layouts, accesses) if accesses else NO_HEAT, caption) for one in records]
    drawn = (line_map(one, layouts, heat, drawing.phase, caption=caption) for one, heat, caption in made)
    return tuple(one for one, _, _ in made), tuple(drawn)


def _heats(
    elf: Path, profile: Path, reading: Reading, records: Sequence[Layout], types: Sequence[str], drawing: MapOptions
) -> list[tuple[Layout, MapHeat]]:
    """The records with their heat; several only where they were seen touched, the hottest first."""
    from linesmith.analyzer.line_map.fields import heat_of

    names = {one.name for one in records} if types else set()
    alone = names.pop() if len(names) == 1 else None
    found = _analysed(elf, profile, alone, drawing)
    sampled, findings = (found.profile, (*found.findings, *found.colder)) if found else (None, ())
    worth = list(records)
    if found and not (types and len(records) <= options.MOST_MAPS):
        # Those that findings name; what is held in them is asked for by name.
        named = {thing.layout for one in found.findings for thing in one.objects}
        worth = [one for one in records if one.id in named]
    heats = [(one, heat_of(one, reading.layouts, findings, sampled)) for one in worth]
    if alone:
        return heats
    touched = sorted((pair for pair in heats if pair[1].spots), key=lambda pair: -pair[1].contended)
    if not touched:
        raise NothingToSuggest(f"no access to any of these records in {profile}; see linesmith hot")
    return touched[: options.MOST_MAPS]


def _analysed(elf: Path, profile: Path, record: str | None, drawing: MapOptions) -> Explanation | None:
    """The findings; none, and a remark that says so, where no line holds the record that was asked for."""
    from linesmith.analyzer.cli.analysis import analyse

    try:
        top = None if record else LOOKED_AT
        return analyse(elf, profile, drawing.evidence, record, top)
    except NothingToSuggest as error:
        remark(str(error))
        return None
