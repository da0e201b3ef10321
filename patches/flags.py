# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler and its options out of a recorded command line, checked before anything runs.

The command lines come from files of the user's tree (Kbuild's ``.NAME.cmd``, ``compile_commands.json``). They are
data: never given to a shell, run only when the program is a C compiler from outside the tree, and only with options
that neither write files nor load code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.errors import TreeError

_COMPILER = re.compile(r"(?:[A-Za-z0-9_.+]+-)*(?:gcc|clang|cc)(?:-\d+(?:\.\d+)*)?")
_LAUNCHERS = frozenset(("ccache", "distcc", "sccache"))
_WITH_VALUE = frozenset(
    ("-include", "-imacros", "-isystem", "-idirafter", "-iquote", "--param", "-target", "-I", "-D", "-U")
)
_VALUE_DROPPED = frozenset(("-o", "-MF", "-MT", "-MQ", "-x", "-Xclang", "-Xassembler", "-Xpreprocessor", "-aux-info"))
_KEPT = re.compile(
    r"""-(?: [IDU].+ | (?:isystem|iquote|idirafter).+ | nostdinc | nostdlibinc | std=.+ | ansi | W[^,]* | w | m.+ | O\w*
       | pipe
       | f(?!plugin|dump|profile|test-coverage|callgraph|stack-usage|lto|save|diagnostics-format|pass-plugin
           |syntax-only|emit-struct-debug|debug-types|debug-prefix|verbose-asm|embed|thinlto|module).+
       | -target=.+ | -param=.+ | -sysroot=.+ | pedantic(?:-errors)? | pthread )""",
    re.VERBOSE,
)
# Kbuild records what is run on the object behind the compiler; it is not run here.
_OBJTOOL = "./tools/objtool/objtool"
_CMD_FILE = re.compile(r"(?:saved)?cmd_(\S+)\s*:=\s*(.*)")


@dataclass(frozen=True, slots=True)
class Flags:
    """A C compiler with the options that decide how declarations are read and laid out.

    Relative paths count from ``directory``, in which the compiler must be run.
    """

    compiler: str
    options: tuple[str, ...]
    directory: Path

    def include_directories(self) -> tuple[Path, ...]:
        """The directories of ``-I``, in order, as absolute paths."""
        return tuple(self.directory / option[2:] for option in self.options if option.startswith("-I"))


def from_cmd_file(path: Path, directory: Path, outside: Sequence[Path]) -> Flags:
    """The flags that Kbuild recorded in ``path``; raises ``TreeError`` where they are not a lone compiler call.

    ``directory`` is where make ran; a compiler inside one of ``outside`` is refused.
    Source: scripts/Kbuild.include, ``cmd_TARGET :=`` (``savedcmd_TARGET :=`` since 6.4).
    """
    match = _CMD_FILE.match(path.read_text(encoding="utf-8", errors="replace"))
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
    return Flags(_compiler(rest[0], origin, directory, outside), _options(rest[1:]), directory)


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
    return str(place)


def _options(words: Sequence[str]) -> tuple[str, ...]:
    """The options that are kept; sources, outputs, dependency files and everything unknown fall away."""
    kept: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word in _WITH_VALUE:
            value = next(waiting, "")
            kept += [word + value] if word in ("-I", "-D", "-U") else [word, value]
        elif word in _VALUE_DROPPED:
            next(waiting, "")
        elif _KEPT.fullmatch(word) and word != "-Werror":
            kept.append(word)
    return tuple(kept)
