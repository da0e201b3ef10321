# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler and its options out of a recorded command line, checked before anything runs.

The command lines come from files of the tree (Kbuild's ``.NAME.cmd``, ``compile_commands.json``). They are data: never
given to a shell, run only when the program is a C compiler of this machine from outside the tree, and only with the
options that ``patches.options`` allows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError
from linesmith.patches.confinement import program_folders
from linesmith.patches.options import chosen
from linesmith.patches.source_bytes import source_bytes

_COMPILER = re.compile(r"(?:[A-Za-z0-9_.+]+-)*(?:gcc|clang|cc)(?:-\d+(?:\.\d+)*)?")
_TAKES_PATH = ("-include", "-imacros", "-isystem", "-idirafter", "-iquote", "-isysroot")
_SHOWN, _MOST_SHOWN = 3, 60
_LAUNCHERS = frozenset(("ccache", "distcc", "sccache"))
# Kbuild records what is run on the object behind the compiler; it is not run here.
_OBJTOOL = "./tools/objtool/objtool"
_CMD_FILE = re.compile(r"(?:saved)?cmd_(\S+)\s*:=\s*(.*)")


@dataclass(frozen=True, slots=True)
class Flags:
    """A C compiler with the options that decide how declarations are read and laid out.

    Relative paths count from ``directory``, in which the compiler must be run. ``left_out`` are recorded options that
    are not used and of which a reader should know.
    """

    compiler: str
    options: tuple[str, ...]
    directory: Path
    left_out: tuple[str, ...] = ()

    def places(self) -> tuple[Path, ...]:
        """What the options name as folders or files to read, as absolute paths."""
        words = iter(self.options)
        named = (_named(word, words) for word in words)
        return tuple(self.directory / name for name in named if name)

    def remarks(self, origin: str) -> tuple[str, ...]:
        """A sentence on the options of ``origin`` that are not used, if there are such."""
        if not self.left_out:
            return ()
        shown = ", ".join(option[:_MOST_SHOWN] for option in self.left_out[:_SHOWN])
        more = f" and {len(self.left_out) - _SHOWN} more" if len(self.left_out) > _SHOWN else ""
        return (f"compiler options of {origin} left out, because no layout depends on them: {shown}{more}",)

    def include_directories(self) -> tuple[Path, ...]:
        """The directories of ``-I``, in order, as absolute paths."""
        return tuple(self.directory / option[2:] for option in self.options if option.startswith("-I"))


def _named(word: str, following: Iterator[str]) -> str:
    """The path that an option names, empty for others."""
    if word in _TAKES_PATH:
        return next(following, "")
    return next((word[len(option) :] for option in ("-I", "--sysroot=") if word.startswith(option)), "")


def from_cmd_file(path: Path, directory: Path, outside: Sequence[Path]) -> Flags:
    """The flags that Kbuild recorded in ``path``; raises ``TreeError`` where they are not a lone compiler call.

    ``directory`` is where make ran; a compiler inside one of ``outside`` is refused.
    Source: scripts/Kbuild.include, ``cmd_TARGET :=`` (``savedcmd_TARGET :=`` since 6.4).
    """
    text = source_bytes(path.parent, path.name) or b""
    match = _CMD_FILE.match(text.decode("utf-8", "replace"))
    if match is None:
        raise TreeError(f"{path} holds no recorded command; run make again in {directory}")
    line = match[2].replace("$(pound)", "#").replace("$$", "$")
    return from_words(_words(line, path), path, directory, outside)


def from_words(words: Sequence[str], origin: Path, directory: Path, outside: Sequence[Path]) -> Flags:
    """The flags of one compiler call given as words; ``origin`` is the file named in errors."""
    rest = list(words)
    while rest and Path(rest[0]).name in _LAUNCHERS:
        rest.pop(0)
    if not rest:
        raise TreeError(f"{origin} holds an empty command; run make again in {directory}")
    used = chosen(rest[1:])
    return Flags(_compiler(rest[0], origin, directory, outside), used.options, directory, used.left_out)


def _words(line: str, origin: Path) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";|&<>`")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise TreeError(f"{origin}: the recorded command cannot be read ({error}); it was not run") from None
    if ";" in words and words[words.index(";") + 1 :][:1] == [_OBJTOOL]:
        del words[words.index(";") :]
    if any(word and not word.strip(";|&<>`") for word in words):
        raise TreeError(f"{origin}: the recorded command is more than one compiler call; it was not run")
    return words


def _compiler(word: str, origin: Path, directory: Path, outside: Sequence[Path]) -> str:
    path = Path(word)
    if not _COMPILER.fullmatch(path.name):
        raise TreeError(
            f"{origin}: the recorded command runs {word!r}, which is no C compiler known here; it was not run"
        )
    if "/" not in word:
        return word
    place = (directory / path).resolve()
    if any(place.is_relative_to(tree.resolve()) for tree in outside):
        raise TreeError(f"{origin}: the recorded compiler {word!r} lies inside the tree; it was not run")
    if not any(place.is_relative_to(folder) for folder in program_folders()):
        where = "lies in no folder of programs; it was not run: add its folder to PATH"
        raise TreeError(f"{origin}: the recorded compiler {word!r} {where}")
    return str(place)
