# SPDX-License-Identifier: GPL-2.0-or-later
"""A small grammar of hostile changes, and commands on them under strace: what they opened or ran that they must not.

A change is a good base with a head that an attacker made of it; each number is another one. Paths in it are filled in
later: ``@SECRET@`` is a file that nothing may open, ``@RAN@`` one that a command of the change would make, ``@KEPT@``
one that it would overwrite, ``@PLUGIN@`` a shared object that leaves ``@RAN@`` where it is loaded.
"""

from __future__ import annotations

import inspect
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from demo.example import PROFILE, example_program
from lint_commits import LINK, MODULE, Commits, Entry, repository
from matrix.small_kernel import FILES as KERNEL
from matrix.small_kernel import HEADER, MAKEFILE
from patch_cases import write_files

from linesmith.analyzer.base.errors import LinesmithError

Content = str | bytes | Entry
Files = dict[str, Content]
WORDS: Mapping[str, list[str]] = tomllib.loads(Path(__file__).with_name("sources").joinpath("changes.toml").read_text())


@dataclass(frozen=True)
class Change:
    """``base`` and ``head`` are whole trees; ``kinds`` name what the head tries."""

    base: Files
    head: Files
    kinds: tuple[str, ...]


def change(number: int, base: Mapping[str, str], record: str, line: str) -> Change:
    """The change with this number of a tree, in which the ``record`` grows behind a ``line``."""
    dice = random.Random(number)  # noqa: S311
    before = {name: text for name, text in base.items() if name != ".config"}
    head: Files = {**before, record: before[record].replace(line, f"{line}\tlong more[9];\n")}
    kinds = dice.sample(KINDS, dice.choice((1, 1, 2, 3)))
    for kind in kinds:
        head |= brought(kind, dice, record, str(head[record]))
    return Change({**before}, head, tuple(kinds))


KINDS = ("attributes", "configuration", "intents", "links", "makefiles", "names", "options", "scripts", "text", "text ")
LINKED = ("include/linux/link.h", "a.h", "linesmith.toml", "compile_commands.json", ".config", "Makefile")
ESCAPED = "$(touch @RAN@)\\u001b[2J\\u202e"


def brought(kind: str, dice: random.Random, record: str, text: str) -> Files:
    """The files that a head of this kind has, or has otherwise."""
    command = dice.choice(WORDS["commands"])
    match kind:
        case "attributes":
            filters = "filter=evil diff=evil merge=evil export-subst working-tree-encoding=UTF-16 eol=crlf"
            module = '[submodule "sub"]\n\tpath = sub\n\turl = ext::touch @RAN@\n\tupdate = !touch @RAN@\n'
            lfs = {".lfsconfig": f"[lfs]\n\turl = {command}\n"}
            return {".gitattributes": f"* {filters}\n", ".gitmodules": module, "sub": (MODULE, b"1" * 40), **lfs}
        case "configuration":
            value = dice.choice((f";{command};: -", f"$(shell {command})", f"`{command}`", f'a\\" ; {command} ; \\"'))
            symbol = dice.choice(("LOCALVERSION", "INITRAMFS_SOURCE", "SYSTEM_TRUSTED_KEYS", "CC_VERSION_TEXT"))
            return {".config": f'{KERNEL[".config"]}CONFIG_{symbol}="{value}"\n$(shell {command})\n'}
        case "makefiles":
            run = f"$(shell {command})\n"
            make = dice.choice((run + MAKEFILE, MAKEFILE.replace("prepare0:\n", f"prepare0:\n\t{command}\n")))
            recorded = f"cmd_a := gcc -fplugin=@PLUGIN@ -c a.c; {command}\n"
            own = {"Kconfig": f"config X\n\tdefault $(shell,{command})\n", "configure": f"#!/bin/sh\n{command}\n"}
            every = dict.fromkeys(("Kbuild", "scripts/Makefile.build", "arch/x86/Makefile"), run)
            return {"Makefile": make, "arch/x86/kernel/.asm-offsets.s.cmd": recorded, **own, **every}
        case "scripts":
            perl = dice.choice(
                ("system('touch @RAN@');", "open(F,'@SECRET@');print <F>;", "open(F,'>@KEPT@');print F 1;")
            )
            scripts = ("scripts/checkpatch.pl", "scripts/get_maintainer.pl")
            return {"MAINTAINERS": "X\nM: a@b\n", **dict.fromkeys(scripts, f"#!/usr/bin/perl\n{perl}\n")}
        case "links":
            target = dice.choice(("@SECRET@", "/etc/shadow", "../../../secret", "/proc/self/mem", "/dev/zero", "."))
            return {dice.choice((record, *LINKED)): (LINK, target.encode())}
        case "names":
            return dict.fromkeys(dice.sample(WORDS["names"], 3), HEADER.replace("struct s ", "struct other "))
        case "options":
            words = " ".join(dice.sample(WORDS["options"], dice.randint(1, 4)))
            compiler = dice.choice(("cc", "cc", "./cc", "@FOLDER@/gcc", "sh", "touch @RAN@; cc"))
            where = dice.choice((".", "/", "@FOLDER@", "/proc/self"))
            entry = {"directory": where, "file": record, "command": f"{compiler} {words} -c {record}"}
            return {"compile_commands.json": json.dumps([entry]), "cc": "#!/bin/sh\ntouch @RAN@\n"}
        case "intents":
            reason = f'[[type]]\nname = "s"\nreason = "{ESCAPED}"\nprofile = "@SECRET@"\n'
            places = '[lint]\nbaseline = "@SECRET@"\n', '[defaults]\ntree = "@FOLDER@"\nbuild = "@FOLDER@"\n'
            others = 'include = "@SECRET@"\n', "[[type]]\nname = 's'\nconfig = ['$(touch @RAN@)']\n"
            plan = '[[benchmark]]\nname = "command"\ncommand = "touch @RAN@"\n'
            return {"linesmith.toml": dice.choice((reason, *places, *others)), "tune.toml": plan}
    return {record: dice.choice(WORDS["reads"]).format(dice.choice(WORDS["outside"])) + text}


COMMANDS = ("lint --base-ref", "lint --patch", "diff --patch", "patch")
HIDDEN = "ossifrage"
_SECONDS = 300
_CALLS = "execve,execveat,open,openat,openat2,creat"
_OPENED = re.compile(r"^\d+ +(open|openat|openat2|creat)\((.*)\) += \d+<([^>]*)>")
_RAN = re.compile(r'^\d+ +execve(?:at)?\((?:[^"]*, )?"([^"]*)".*\) += 0$')
_SYSTEM: tuple[str, ...] = tuple(WORDS["system"])


class Attack:
    """A change in a repository, with the files that it is after beside it."""

    def __init__(self, folder: Path, number: int, bench: Path) -> None:
        sources = {one.name: one.read_text() for one in bench.parent.glob("*.[ch]")}
        self.folder, self.bench = folder, bench
        self.outside = folder / "outside"
        self.outside.mkdir()
        for name in ("secret", "kept"):
            (self.outside / name).write_text(f"{HIDDEN} {HIDDEN}_t;\n")
        shutil.copy(bench.parent / "plugin.so", self.outside / "plugin.so")
        compiler = self.outside / "gcc"
        compiler.write_text(f"#!/bin/sh\ntouch {self.outside}/ran\n")
        compiler.chmod(0o755)
        of_program = change(number, sources, "session_index.h", "  uint64_t created;\n")
        self.program, self.kinds = self._repository("program", of_program), of_program.kinds
        of_kernel = change(number, KERNEL, "include/linux/s.h", "\tlong hot;\n")
        self.kernel = self._repository("kernel", of_kernel) if number % 2 else self.program

    def _repository(self, name: str, of: Change) -> tuple[Commits, str, str]:
        """A repository with the commits of the base and of the head."""
        made = repository(self.folder / name)
        base = made.commit({name: self._filled(text) for name, text in of.base.items()})
        files = {name: self._filled(text) for name, text in of.head.items()}
        try:
            return made, base, made.commit(files, base)
        except (subprocess.CalledProcessError, UnicodeEncodeError):  # names that git itself does not take
            sound = {one: text for one, text in files.items() if re.fullmatch(r"[\w./$();` \"'@=-]+", one)}
            sound = {one: text for one, text in sound.items() if ".." not in one and ".git/" not in one.lower()}
            return made, base, made.commit(sound, base)

    def _filled(self, content: Content) -> Content:
        if isinstance(content, tuple):
            return content[0], self._replaced(content[1].decode()).encode()
        return self._replaced(content) if isinstance(content, str) else content

    def _replaced(self, text: str) -> str:
        for name in ("secret", "ran", "kept", "plugin.so", ""):
            word = name.removesuffix(".so").upper() or "FOLDER"
            text = text.replace(f"@{word}@", str(self.outside / name))
        return text

    def breaches(self, commands: Sequence[str]) -> Iterator[str]:
        """What each command does that it must not."""
        for command in commands:
            yield from (f"{', '.join(self.kinds)}: {command}: {what}" for what in self._judged(command))

    def _judged(self, command: str) -> Iterator[str]:
        words, given, tree = self._words(command)
        done, trace = self.traced(words, given, tree)
        said = (done.stdout + done.stderr).decode("utf-8", "replace")
        if HIDDEN in said:
            yield "shows the secret"
        if (self.outside / "ran").exists():
            yield "ran a command of the change"
            (self.outside / "ran").unlink()
        if (self.outside / "kept").read_text() != f"{HIDDEN} {HIDDEN}_t;\n":
            yield "overwrote a file"
        if done.returncode not in (0, 1, 2) or "Traceback" in said:
            yield f"ended with {done.returncode}: {said[-300:]}"
        if "\x1b[2J" in said or "\u202e" in said:
            yield "steers the terminal"
        yield from strangers(trace, self.allowed(tree))

    def traced(self, words: Sequence[str], given: bytes, tree: Path) -> tuple[subprocess.CompletedProcess[bytes], str]:
        """The ended command, and what strace says of it."""
        trace = self.folder / "trace"
        options = ("-f", "-qq", "-y", "-s", "1024", "--seccomp-bpf", "-e", f"trace={_CALLS}", "-o", str(trace))
        done = subprocess.run(
            ["strace", *options, *words], input=given, cwd=tree, env=self._environment(), capture_output=True,
            check=False, timeout=_SECONDS,
        )  # fmt: skip
        return done, trace.read_text("utf-8", "replace")

    def _words(self, command: str) -> tuple[list[str], bytes, Path]:
        """The command line, its input, and the tree, which is checked out as the command expects it."""
        linesmith = str(Path(sys.executable).with_name("linesmith"))
        made, base, head = self.program if command == "patch" else self.kernel
        _check_out(made.root, base if "--patch" in command else head)
        tree = str(made.root)
        if command == "lint --base-ref":
            return [linesmith, "lint", "--tree", tree, "--base-ref", base, "--head-ref", "HEAD"], b"", made.root
        if command == "patch":
            profile = str(self.bench.parent / PROFILE)
            argv = [linesmith, "patch", str(self.bench), profile, "--tree", tree, "--type", "session_index"]
            return argv, b"", made.root
        if (made.root / "Kbuild").is_file():
            write_files(made.root, {".config": KERNEL[".config"]})
        diff = ["git", "diff", "--binary", base, head]
        patch = subprocess.run(diff, cwd=made.root, capture_output=True, check=True, timeout=60).stdout
        return [linesmith, command.split()[0], "--patch", "-", "--tree", tree], patch, made.root

    def _environment(self) -> dict[str, str]:
        places = {"HOME": self.folder / "home", "TMPDIR": self.folder / "scratch"}
        for place in places.values():
            place.mkdir(exist_ok=True)
        own = {name: str(place) for name, place in places.items()}
        return {"PATH": os.environ["PATH"], "LINESMITH_CACHE_DIR": str(self.folder / "cache"), **own}

    def allowed(self, tree: Path) -> tuple[str, ...]:
        """What a command may open: its inputs, its own places, Python and the system."""
        own = (tree, *(self.folder / name for name in ("cache", "scratch", "home")), self.bench.parent)
        packages = {Path(place).resolve() for place in (sys.prefix, sys.base_prefix, *sys.path) if place}
        checkout = Path(inspect.getfile(LinesmithError)).resolve().parents[1]
        # A checkout that is installed to be edited has its parent in sys.path, and that may hold our own folder, too.
        sound = (place for place in packages if not self.folder.is_relative_to(place))
        return (*map(str, (*own, *sound, checkout)), *_SYSTEM)


def _check_out(tree: Path, commit: str) -> None:
    argv = ["git", "-c", "core.protectNTFS=false", "checkout", "-q", "-f", "--detach", commit]
    subprocess.run(argv, cwd=tree, capture_output=True, check=False, timeout=60)


def strangers(trace: str, allowed: Sequence[str]) -> Iterator[str]:
    """What was opened for reading or writing, or run, from outside of the ``allowed`` places; each once."""
    found: dict[str, None] = {}
    for line in trace.splitlines():
        if (ran := _RAN.match(line)) and not _lies_in(os.path.realpath(ran[1]), allowed):
            found[f"ran {ran[1]}"] = None
        opened = _OPENED.match(line)
        listed = opened and opened[3] in sys.path  # by Python, which looks for modules there
        if opened and not listed and "O_PATH" not in opened[2] and not _lies_in(opened[3], allowed):
            found[f"opened {opened[3]}"] = None
    yield from found


def _lies_in(place: str, allowed: Sequence[str]) -> bool:
    return re.match(r"/proc/\d+(?:/|$)", place) is not None or any(
        place == one or place.startswith((f"{one}/", "pipe:", "socket:", "anon_inode:")) for one in allowed
    )


def built(folder: Path) -> Path:
    """The example program of the package with its sources and a plugin that leaves a trace, below ``folder``."""
    made = example_program(folder / "bench")
    plugin = Path(__file__).with_name("sources") / "plugin.c"
    argv = ["gcc", "-shared", "-fPIC", "-o", str(made.with_name("plugin.so")), str(plugin)]
    subprocess.run(argv, check=True, timeout=60)
    return made


def breaches(bench: Path, number: int, commands: Sequence[str] = COMMANDS) -> list[str]:
    """What the commands do on one change that they must not."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        return list(Attack(Path(folder).resolve(), number, bench).breaches(commands))
