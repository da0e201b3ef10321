# SPDX-License-Identifier: GPL-2.0-or-later
"""What gcc says of a layout: each member as an opaque type of its size and alignment, many structs to a program."""

from __future__ import annotations

import struct as bytes_of
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from linesmith.analyzer.layouts.gaps import inferred_alignments, inferred_record_alignment
from linesmith.analyzer.model import Layout, Member

STRUCTS_PER_PROGRAM = 250
INTEGERS = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long"}
SOURCES = Path(__file__).with_name("sources")
PRELUDE = (SOURCES / "prelude.c").read_text()


@dataclass(frozen=True)
class Compiled:
    """Size and alignment in bytes; where each member begins, in bits."""

    size: int
    alignment: int
    starts: tuple[int, ...]


def says(layout: Layout) -> Compiled:
    """What the layout claims; its alignment is the largest of its members' and its own."""
    asked = [max(one.natural_alignment, one.alignment or 1) for one in layout.members if one.bit_size != 0]
    starts = tuple(8 * one.offset if one.bit_offset is None else one.bit_offset for one in layout.members)
    return Compiled(layout.size, max([1, layout.alignment or 1, *asked]), starts)


def compiled(layouts: Sequence[Layout], folder: Path) -> list[Compiled]:
    """What gcc makes of the members in their order."""
    found: list[Compiled] = []
    for number, batch in enumerate(_batches(layouts)):
        source, program = folder / f"structs{number}.c", folder / f"structs{number}"
        source.write_text(_program(batch))
        subprocess.run(["gcc", "-w", "-O0", "-o", program, source], check=True, timeout=600)
        words = [word for (word,) in bytes_of.iter_unpack("=Q", subprocess.check_output([program], timeout=300))]
        for layout in batch:
            size, alignment, *starts = (words.pop(0) for _ in range(2 + len(layout.members)))
            found.append(Compiled(size, alignment, tuple(starts)))
    return found


def _batches(layouts: Sequence[Layout]) -> Iterator[Sequence[Layout]]:
    return (layouts[at : at + STRUCTS_PER_PROGRAM] for at in range(0, len(layouts), STRUCTS_PER_PROGRAM))


def told_alignments(layout: Layout) -> Layout:
    """The layout with the alignments that explain it where the debug information has none (clang, unnamed bits)."""
    members = (
        replace(one, alignment=one.alignment or _closed(layout, at) or inferred_alignments(layout)[at])
        for at, one in enumerate(layout.members)
    )
    return replace(layout, members=tuple(members), alignment=layout.alignment or inferred_record_alignment(layout))


def _closed(layout: Layout, at: int) -> int | None:
    """Bytes of the unit that a bit-field opens behind another one that left room for it: ``unsigned :0`` does that."""
    member, before = layout.members[at], layout.members[at - 1]
    if not at or member.bit_offset is None or before.bit_offset is None:
        return None
    end, unit = before.bit_offset + (before.bit_size or 0), 8 * member.size
    room = end % unit and end % unit + (member.bit_size or 0) <= unit
    return member.size if room and member.bit_offset % unit == 0 else None


def _program(layouts: Sequence[Layout]) -> str:
    types = "".join(f"{_struct(number, layout)}\n" for number, layout in enumerate(layouts))
    calls = "".join(
        f"static void tell{number}(void)\n{{\n{''.join(_statements(number, layout))}}}\n"
        for number, layout in enumerate(layouts)
    )
    main = "".join(f"\ttell{number}();\n" for number in range(len(layouts)))
    return f"{PRELUDE}{types}{calls}int main(void)\n{{\n{main}\treturn 0;\n}}\n"


def _struct(number: int, layout: Layout) -> str:
    members = "".join(f"\t{_declared(f'm{at}', member)};\n" for at, member in enumerate(layout.members))
    asked = f" __attribute__((aligned({layout.alignment})))" if layout.alignment else ""
    types = "".join(_type(number, at, member) for at, member in enumerate(layout.members))
    return types + f"struct s{number} {{\n{members.replace('@', f'{number}_')}}}{asked};\n"


def _type(number: int, at: int, member: Member) -> str:
    """The type of a member that is no bit-field: bytes that are aligned as its own type is."""
    if member.bit_size is not None:
        return ""
    size = member.natural_alignment if member.flexible else member.size
    return f"typedef char t{number}_m{at}[{size}] __attribute__((aligned({max(member.natural_alignment, 1)})));\n"


def _declared(name: str, member: Member) -> str:
    asked = f" __attribute__((aligned({member.alignment})))" if member.alignment else ""
    if member.bit_size is not None:
        return f"{INTEGERS[member.size]} {name} : {member.bit_size}{asked}"
    return f"t@{name} {name}{'[]' if member.flexible else ''}{asked}"


def _statements(number: int, layout: Layout) -> Iterator[str]:
    yield f"\tsay(sizeof(struct s{number})); say(_Alignof(struct s{number}));\n"
    for at, member in enumerate(layout.members):
        if member.bit_size is None:
            yield f"\tsay(8 * offsetof(struct s{number}, m{at}));\n"
        else:
            yield (
                f"\t{{ struct s{number} o; memset(&o, 0, sizeof o); o.m{at} = ~0ul; say(first_bit(&o, sizeof o)); }}\n"
            )
