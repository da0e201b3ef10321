# SPDX-License-Identifier: GPL-2.0-or-later
"""BTF as producers really write it: sections, raw blobs, split BTF, and what is missing or damaged there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import pytest
from elf.objects import Refusal, Section, compiled, elf_file, refusal
from linesmith_command import linesmith

from linesmith.analyzer import _native
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Layout

NO_SECTION = "FILE: the file has no .BTF section; build it with CONFIG_DEBUG_INFO_BTF=y, or with pahole -J"
SPLIT = (
    "FILE (.BTF): this BTF is split (a kernel module's) and means nothing without that of its kernel; read the module's"
    " DWARF, or the kernel's own BTF"
)
CUT = (
    "FILE (.BTF): the BTF is damaged: it ends after 4 bytes, inside the header; fetch the file again or read its DWARF"
    " instead"
)
RECORDS = ["", "node", "record"]


def layouts(file: Path, base: Path | None = None) -> list[Layout]:
    table = _native.read_btf(str(file), str(base)) if base else _native.read_btf(str(file))
    return [msgspec.json.decode(document, type=Layout) for document in table.all_json()]


def blob(folder: Path) -> Path:
    made = folder / "blob"
    subprocess.run(["pahole", f"--btf_encode_detached={made}", compiled(folder)], check=True)
    return made


def test_raw_file_is_read_without_dwarf(tmp_path: Path) -> None:
    reading = read_layouts(blob(tmp_path))
    assert reading.reader == "BTF"
    assert reading.layouts.variants("record")[0].size == 40


def test_sections_that_gcc_writes_and_that_pahole_adds(tmp_path: Path) -> None:
    assert sorted(layout.name for layout in layouts(compiled(tmp_path, "-gbtf"))) == RECORDS
    file = compiled(tmp_path)
    subprocess.run(["pahole", "-J", file], check=True)
    assert sorted(layout.name for layout in layouts(file)) == RECORDS


def test_blob_of_a_big_endian_machine(tmp_path: Path) -> None:
    source = "struct pair { short first; int second; } pair; int use(void) { return pair.second; }"
    file = compiled(tmp_path, "--target=bpfeb", source=source, compiler="clang-19")
    (pair,) = layouts(file)
    assert [(member.name, member.offset) for member in pair.members] == [("first", 0), ("second", 4)]


def test_running_kernel() -> None:
    kernel = Path("/sys/kernel/btf/vmlinux")
    if not kernel.exists():
        pytest.skip("this kernel has no BTF")
    names = {layout.name: layout for layout in layouts(kernel)}
    assert {member.name for member in names["list_head"].members} == {"next", "prev"}


def test_file_without_btf(tmp_path: Path) -> None:
    file = compiled(tmp_path)
    with pytest.raises(_native.NativeError) as caught:
        layouts(file)
    kind, message = caught.value.args
    assert (kind, message.replace(str(file), "FILE")) == ("DebugInfoMissing", NO_SECTION)


def test_split_btf_without_its_base(tmp_path: Path) -> None:
    """As in a kernel module: its strings go on where those of the kernel end."""
    content = bytearray(blob(tmp_path).read_bytes())
    first_string = 24 + int.from_bytes(content[16:20], "little")
    content[first_string] = ord("x")
    module = elf_file(tmp_path / "module.ko", Section(".BTF", bytes(content)))
    assert refusal(module) == Refusal("DebugInfoMissing", SPLIT)


def test_module_over_its_kernel(tmp_path: Path) -> None:
    (tmp_path / "kernel").mkdir()
    kernel = blob(tmp_path / "kernel")
    source = "struct node { struct node *next; const char *name; }; struct driver { struct node node; } driver;"
    module = compiled(tmp_path, source=source)
    subprocess.run(["pahole", "-J", "--btf_base", kernel, module], check=True)
    driver, node = layouts(module, kernel)
    assert (driver.name, node.name) == ("driver", "node")
    assert driver.members[0].record == node.id


def test_damaged_section_or_file(tmp_path: Path) -> None:
    file = elf_file(tmp_path / "file", Section(".BTF", b"\x9f\xeb\x01\x00"))
    assert refusal(file) == Refusal("DebugInfoDamaged", CUT)
    file = blob(tmp_path)
    file.write_bytes(file.read_bytes()[:100])
    refused = refusal(file)
    assert refused.error == "DebugInfoDamaged"
    assert refused.sentence.endswith("; fetch the file again or read its DWARF instead")


def test_names_are_any_bytes_and_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """What is no UTF-8 shows as the replacement character."""
    file = blob(tmp_path)
    sound = file.read_bytes()
    file.write_bytes(sound.replace(b"nodes\0", b'\xff\xfe"\\\n\0'))
    assert '\ufffd\ufffd"\\\n' in {member.name for layout in layouts(file) for member in layout.members}
    file.write_bytes(sound.replace(b"nodes\0", b"\x1b[31m\0"))
    shown = linesmith("layout", file, "record").stdout
    assert r"\u001b[31m[2];" in shown
    assert "\x1b" not in shown
