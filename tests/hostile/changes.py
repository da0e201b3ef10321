# SPDX-License-Identifier: GPL-2.0-or-later
"""A small grammar of hostile changes: each number is one that tries to run, read or write what it must not.

A change is a good base with a head that an attacker made of it. Paths in it are filled in later: ``@SECRET@`` is a file
that nothing may open, ``@RAN@`` one that a command of the change would make, ``@KEPT@`` one that it would
overwrite, ``@PLUGIN@`` a shared object that leaves ``@RAN@`` where it is loaded.
"""

from __future__ import annotations

import json
import random
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from lint_commits import LINK, MODULE, Entry
from matrix.small_kernel import FILES as KERNEL
from matrix.small_kernel import HEADER, MAKEFILE

Content = str | bytes | Entry
Files = dict[str, Content]
Dice = random.Random
WORDS: Mapping[str, list[str]] = tomllib.loads(Path(__file__).with_name("sources").joinpath("changes.toml").read_text())


@dataclass(frozen=True)
class Change:
    """``base`` and ``head`` are whole trees; ``kinds`` name what the head tries."""

    base: Files
    head: Files
    kinds: tuple[str, ...]


def kernel_change(number: int) -> Change:
    """The change with this number of a kernel in small, which has no configuration of its own."""
    base: Files = {name: text for name, text in KERNEL.items() if name != ".config"}
    return _change(number, base, "include/linux/s.h", HEADER.replace("\tlong hot;\n", "\tlong hot;\n\tlong more[9];\n"))


def program_change(number: int, program: Mapping[str, str]) -> Change:
    """The change with this number of a ``program`` that declares ``struct session_index``."""
    before = "  uint64_t created;\n"
    grown = program["session_index.h"].replace(before, f"{before}  uint64_t more[9];\n")
    return _change(number, dict(program), "session_index.h", grown)


def _change(number: int, base: Files, record: str, grown: str) -> Change:
    dice = random.Random(number)  # noqa: S311
    head = {**base, record: grown}
    kinds = dice.sample(sorted(_KINDS), dice.choice((1, 1, 2, 3)))
    for kind in kinds:
        _KINDS[kind](dice, head, record)
    return Change(base, head, tuple(kinds))


def _text(dice: Dice, head: Files, record: str) -> None:
    front = dice.choice(WORDS["reads"]).format(dice.choice(WORDS["outside"]))
    head[record] = front + str(head[record])


def _options(dice: Dice, head: Files, record: str) -> None:
    words = " ".join(dice.sample(WORDS["options"], dice.randint(1, 4)))
    entry = {
        "directory": dice.choice((".", "/", "@FOLDER@", "/proc/self")),
        "file": record,
        "command": f"cc {words} -c {record}",
    }
    compiler = dice.choice(("cc", "cc", "./cc", "@FOLDER@/gcc", "sh", "touch @RAN@; cc"))
    entry["command"] = entry["command"].replace("cc", compiler, 1)
    head["compile_commands.json"] = json.dumps([entry])
    head["cc"] = "#!/bin/sh\ntouch @RAN@\n"


def _configuration(dice: Dice, head: Files, _record: str) -> None:
    value = dice.choice(
        (";touch @RAN@;: -", "$(shell touch @RAN@)", "`touch @RAN@`", "$(file >@RAN@,x)", 'a\\" ; touch @RAN@ ; \\"')
    )
    symbol = dice.choice(("LOCALVERSION", "INITRAMFS_SOURCE", "SYSTEM_TRUSTED_KEYS", "CC_VERSION_TEXT", "CMDLINE"))
    head[".config"] = KERNEL[".config"] + f'CONFIG_{symbol}="{value}"\n' + dice.choice(("", "$(shell touch @RAN@)\n"))


def _makefiles(dice: Dice, head: Files, _record: str) -> None:
    command = dice.choice(WORDS["commands"])
    head["Makefile"] = dice.choice(
        (f"$(shell {command})\n{MAKEFILE}", MAKEFILE.replace("prepare0:\n", f"prepare0:\n\t{command}\n"))
    )
    head.update(dict.fromkeys(("Kbuild", "scripts/Makefile.build", "arch/x86/Makefile"), f"$(shell {command})\n"))
    if dice.random() < 0.5:
        head[".config"] = KERNEL[".config"]
    head["Kconfig"] = f"config X\n\tdefault $(shell,{command})\n"
    head["configure"] = f"#!/bin/sh\n{command}\n"
    head["arch/x86/kernel/.asm-offsets.s.cmd"] = f"cmd_a := gcc -fplugin=@PLUGIN@ -c a.c; {command}\n"


def _scripts(dice: Dice, head: Files, _record: str) -> None:
    perl = dice.choice(("system('touch @RAN@');", "open(F,'@SECRET@');print <F>;", "open(F,'>@KEPT@');print F 1;"))
    head["scripts/checkpatch.pl"] = head["scripts/get_maintainer.pl"] = f"#!/usr/bin/perl\n{perl}\n"
    head["MAINTAINERS"] = "X\nM: a@b\n"


def _attributes(dice: Dice, head: Files, _record: str) -> None:
    head[".gitattributes"] = "* filter=evil diff=evil merge=evil export-subst working-tree-encoding=UTF-16 eol=crlf\n"
    head[".gitmodules"] = '[submodule "sub"]\n\tpath = sub\n\turl = ext::touch @RAN@\n\tupdate = !touch @RAN@\n'
    head["sub"] = (MODULE, b"1" * 40)
    head[".lfsconfig"] = f"[lfs]\n\turl = {dice.choice(WORDS['commands'])}\n"


def _links(dice: Dice, head: Files, record: str) -> None:
    target = dice.choice(("@SECRET@", "/etc/shadow", "../../../secret", "/proc/self/mem", "/dev/zero", "."))
    place = dice.choice(
        ("include/linux/link.h", "a.h", record, "linesmith.toml", "compile_commands.json", ".config", "Makefile")
    )
    head[place] = (LINK, target.encode())


def _names(dice: Dice, head: Files, _record: str) -> None:
    for name in dice.sample(WORDS["names"], 3):
        head[name] = HEADER.replace("struct s ", "struct other ")


def _intents(dice: Dice, head: Files, _record: str) -> None:
    head["linesmith.toml"] = dice.choice(
        (
            '[lint]\nbaseline = "@SECRET@"\n',
            '[defaults]\ntree = "@FOLDER@"\nbuild = "@FOLDER@"\n',
            '[[type]]\nname = "s"\nreason = "$(touch @RAN@)\\u001b[2J\\u202e"\nprofile = "@SECRET@"\n',
            'include = "@SECRET@"\n',
            "[[type]]\nname = 's'\nconfig = ['$(touch @RAN@)']\n",
        )
    )
    head["tune.toml"] = '[[benchmark]]\nname = "command"\ncommand = "touch @RAN@"\n'


_KINDS: Mapping[str, Callable[[Dice, Files, str], None]] = {
    "attributes": _attributes,
    "configuration": _configuration,
    "intents": _intents,
    "links": _links,
    "makefiles": _makefiles,
    "names": _names,
    "options": _options,
    "scripts": _scripts,
    "text": _text,
    "text again": _text,
}
