# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler options that are taken from a recorded command line; every other option is left out.

Command lines come from files of a tree (``compile_commands.json``, Kbuild's ``.NAME.cmd``), and a tree under review is
not trusted. gcc and clang have options that load code (``-fplugin=``, ``-specs=``), that write files
(``-fopt-info-all=``) and that read further options (``@FILE``), and each release has more. So an option is used only
where a rule below allows it, and each rule says why a layout needs it. Values have no comma, quote or white space
unless the rule says so; the words are handed to the compiler as they are, never to a shell. A recorded command is run
only when its program is a C compiler of this machine from outside the tree.

Sources: gcc(1) of GCC 12 to 15, clang(1) and ``clang -cc1 --help`` of LLVM 14 to 20.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from linesmith.analyzer.base.errors import TreeError
from linesmith.patches.build.confinement import program_folders
from linesmith.patches.source.tree import source_bytes

# Options whose value may be the next word, or follow at once; where a value names a file, the compiler is confined.
_VALUES = {
    "-D": "defines a macro: conditionals of a record depend on it",
    "-U": "undefines a macro",
    "-I": "where included files are looked for",
    "-isystem": "where included files are looked for",
    "-iquote": "where included files are looked for",
    "-idirafter": "where included files are looked for",
    "-include": "a header in front of every unit, such as linux/kconfig.h",
    "-imacros": "macros in front of every unit",
    "-isysroot": "the headers of another system",
    "--sysroot": "the headers of another system",
    "-target": "the machine that clang compiles for, written --target=",
    "--target": "the machine that clang compiles for",
}
# These are one word in every command that we write; of the others the value is a word of its own.
_JOINED = frozenset(("-D", "-U", "-I"))
_WITH_EQUALS = frozenset(("--sysroot", "--target", "-target"))

_X86_FEATURES = (
    "sse|sse2|sse3|ssse3|sse4|sse4[.][12]|sse4a|avx|avx2|avx10[.][0-9](?:-256|-512)?|avx512[a-z0-9]{1,16}|avxvnni|mmx|"
    "3dnow|3dnowa|fma|fma4|f16c|aes|vaes|pclmul|vpclmulqdq|sha|gfni|bmi|bmi2|adx|popcnt|lzcnt|abm|tbm|movbe|cx16|sahf|"
    "rdrnd|rdseed|rdpid|fsgsbase|fxsr|xsave|xsaveopt|xsavec|xsaves|crc32|clflushopt|clwb|serialize|waitpkg|hle|rtm|"
    "80387|fp-ret-in-387|long-double-64|long-double-80|long-double-128|ms-bitfields|align-double|red-zone|"
    "skip-rax-setup|accumulate-outgoing-args|indirect-branch-register|indirect-branch-cs-prefix|omit-leaf-frame-pointer"
)
_OTHER_FEATURES = (
    "general-regs-only|outline-atomics|strict-align|unaligned-access|little-endian|big-endian|little|big|omit-leaf-frame-pointer|"
    "thumb|arm|thumb-interwork|thumb2|apcs|apcs-frame|fix-cortex-a53-835769|fix-cortex-a53-843419|soft-float|hard-float|"
    "altivec|vsx|spe|prefixed|pcrel|mma|pointers-to-nested-functions|string|multiple|readonly-in-sdata|"
    "save-restore|relax|backchain|packed-stack|htm|vx|zarch|esa|warn-dynamicstack|branch-likely|abicalls|long-calls|"
    "check-zero-division|explicit-relocs|micromips|mips16|xgot|dsp|msa|fpu|vis|app-regs|faster-structs|flat|"
    "long-double|hard-dfp|short-load-bytes|sched-prolog|dynamic-no-pic"
)

# Options that are used as one word: those that a pattern matches as a whole, and why a layout needs them.
_RULES = {
    "-std=[A-Za-z0-9+:]+|-ansi": "the language in which records are declared",
    "-(?:nostdinc|nostdlibinc|nobuiltininc|undef|trigraphs)": "which headers and macros there are",
    "-m(?:16|32|64|x32|31|eabi|lp64|ilp32|lp64d)": "the sizes of long and of pointers",
    "-m(?:arch|cpu|tune|abi|isa-spec|fpu|float-abi|cpu-32|arch-32)=[A-Za-z0-9_.+-]+":
        "the ABI, and macros by which headers choose",
    f"-m(?:no-)?(?:{_X86_FEATURES})": "vector types, and macros by which headers choose (x86)",
    f"-m(?:no-)?(?:{_OTHER_FEATURES})": "types, byte order, and macros by which headers choose (other machines)",
    "-m(?:regparm|cmodel|preferred-stack-boundary|stack-alignment|incoming-stack-boundary|tls-dialect|tls-size|"
    "branch-protection|indirect-branch|function-return|harden-sls|stack-protector-guard|"
    "stack-protector-guard-reg|stack-protector-guard-offset|sign-return-address|long-double|align|tp|"
    "structure-size-boundary|float-gprs|call)=[A-Za-z0-9_.+-]+":
        "how functions and inline assembler of headers compile; some set macros",
    "-m(?:rtd|fentry|record-mcount|nop-mcount|pic-data-is-text-relative|profile-kernel|retpoline|"
    "retpoline-external-thunk)":
        "how functions of headers compile",
    "-f(?:no-)?(?:pack-struct|short-enums|short-wchar|short-double|signed-char|unsigned-char|signed-bitfields|"
    "unsigned-bitfields|ms-extensions|plan9-extensions|ms-compatibility|blocks|char8_t|common)|-fpack-struct=[0-9]+":
        "the layout itself: packing, enumerations, characters, unnamed members",
    "-frandomize-layout-seed(?:-file)?=[^\\s,'\"]+": "the order of members where clang shuffles them",
    "-f(?:no-)?(?:freestanding|hosted|asm|gnu-keywords|gnu89-inline|builtin|extended-identifiers|"
    "dollars-in-identifiers|lax-vector-conversions|permissive|openmp|openmp-simd|openacc|exceptions|"
    "non-call-exceptions|rtti|heinous-gnu-extensions|declspec|borland-extensions|cilkplus)"
    "|-f(?:no-)?builtin-[a-z0-9_]+|-flax-vector-conversions=[a-z]+|-finput-charset=[A-Za-z0-9-]+"
    "|-fopenmp=[a-z0-9]+":
        "what the parser accepts, and macros by which headers choose",
    "-pthread|-fPIC|-fpic|-fPIE|-fpie|-fno-(?:PIC|pic|PIE|pie)|-f(?:no-)?plt":
        "macros by which headers choose (_REENTRANT, __PIC__)",
    "-f(?:no-)?stack-protector(?:-strong|-all|-explicit)?|-fcf-protection(?:=[a-z]+)?"
    "|-f(?:no-)?sanitize(?:-recover|-trap)?=[a-z,-]+|-f(?:no-)?sanitize-coverage=[a-z0-9,-]+"
    "|-f(?:no-)?sanitize-cfi-icall-(?:generalize-pointers|experimental-normalize-integers)":
        "macros by which headers choose (__SSP__, __SANITIZE_ADDRESS__, __CET__)",
    "-O[0-3sgz]?|-Ofast": "headers assert at compile time what only an optimizer sees (BUILD_BUG_ON)",
    "-f(?:no-)?(?:strict-aliasing|strict-overflow|wrapv|delete-null-pointer-checks|inline|"
    "inline-functions-called-once|inline-small-functions|optimize-sibling-calls|omit-frame-pointer|jump-tables|"
    "conserve-stack|stack-check|stack-clash-protection|allow-store-data-races|function-sections|data-sections|"
    "asynchronous-unwind-tables|unwind-tables|merge-all-constants|partial-inlining|ipa-cp-clone|ipa-icf|"
    "tree-loop-distribute-patterns|code-hoisting|gcse|reorder-blocks|semantic-interposition|math-errno|"
    "finite-math-only|trapping-math|fast-math|unroll-loops|tree-vectorize|split-stack|align-functions|align-jumps|"
    "align-loops|keep-inline-functions|visibility-inlines-hidden)"
    "|-f(?:align-functions|align-jumps|align-loops|min-function-alignment|trivial-auto-var-init|zero-call-used-regs|"
    "patchable-function-entry|visibility|strict-flex-arrays|inline-limit|tls-model|excess-precision|fp-model|"
    "fp-contract)=[A-Za-z0-9_.,-]+|-fstrict-flex-arrays":
        "which warnings and errors the compiler gives, so that those of a change are told from those before it",
    "-W(?:no-)?(?:error=)?[a-z0-9][a-z0-9+-]*(?:=[A-Za-z0-9_-]+)?|-w|-pedantic|-pedantic-errors|"
    "-Qunused-arguments":
        "which warnings the compiler gives; those that a change brings are shown",
}  # fmt: skip
_ALLOWED = re.compile("|".join(f"(?:{pattern})" for pattern in _RULES))

# What says nothing about a layout and stands in every command line; leaving it out is not worth a remark.
_PLAIN_WORDS = re.compile(
    "-(?:c|S|E|g[a-z0-9]*(?:-[0-9])?|gdwarf-[0-9]|M|MM|MD|MMD|MG|MP|pipe|fverbose-asm|rdynamic|shared|static|Werror|"
    "fmacro-prefix-map=.*|ffile-prefix-map=.*|fdebug-prefix-map=.*|fdiagnostics-color(?:=[a-z]+)?|fcolor-diagnostics|"
    "Wp,-MM?D,.*|Wa,.*|Wl,.*|gz(?:=[a-z]+)?|gno-[a-z-]+|g(?:no-)?as-loc[a-z-]*|gstrict-dwarf|gpubnames|(?:f(?:no-)?|no-)integrated-as|l.*|L.*)"
)
# The option and the word behind it are left out.
_PLAIN_PAIRS = frozenset(("-o", "-MF", "-MT", "-MQ", "-x"))
_DROPPED_PAIRS = frozenset(
    ("-Xclang", "-Xassembler", "-Xpreprocessor", "-Xlinker", "-mllvm", "-aux-info", "-wrapper", "-specs", "--param",
     "-dumpbase", "-dumpdir", "-dumpbase-ext", "-T", "-arch", "-B")
)  # fmt: skip


def used_options(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options that are used of the words behind the compiler, and those of which a reader should know they are not.

    Sources, outputs and dependency files fall away unmentioned.
    """
    options: list[str] = []
    left_out: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if (value := _valued(word, waiting)) is not None:
            options += value
        elif _ALLOWED.fullmatch(word) and word != "-Werror":
            options.append(word)
        elif word in _PLAIN_PAIRS:
            next(waiting, "")
        elif word in _DROPPED_PAIRS:
            left_out.append(f"{word} {next(waiting, '')}".rstrip())
        elif word.startswith(("-", "@")) and not _PLAIN_WORDS.fullmatch(word):
            left_out.append(word)
    return tuple(options), tuple(dict.fromkeys(left_out))


def _valued(word: str, waiting: Iterator[str]) -> tuple[str, ...] | None:
    """The option and its value, as we write them, where the word is an option of ``_VALUES``; else ``None``."""
    option = next((one for one in _VALUES if word.startswith(one)), None)
    if option is None or word.startswith("-include-pch"):
        return None
    value = word[len(option) :]
    if option in _WITH_EQUALS:
        if value and not value.startswith("="):
            return None
        value = value[1:] or next(waiting, "")
        return (f"--{option.lstrip('-')}={value}",)
    value = value or next(waiting, "")
    if not value:  # it would take the option that we put behind it for its value
        return ()
    return (option + value,) if option in _JOINED else (option, value)


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
        found, words = [], iter(self.options)
        for word in words:
            if word in _TAKES_PATH:
                found.append(next(words, ""))
            else:
                found += [word[len(option) :] for option in ("-I", "--sysroot=") if word.startswith(option)]
        return tuple(self.directory / name for name in found if name)

    def remarks(self, origin: str) -> tuple[str, ...]:
        """A sentence on the options of ``origin`` that are not used, if there are such."""
        if not self.left_out:
            return ()
        shown = ", ".join(option[:_MOST_SHOWN] for option in self.left_out[:_SHOWN])
        more = f" and {len(self.left_out) - _SHOWN} more" if len(self.left_out) > _SHOWN else ""
        return (f"compiler options of {origin} left out, because no layout depends on them: {shown}{more}",)


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
    options, left_out = used_options(rest[1:])
    return Flags(_compiler(rest[0], origin, directory, outside), options, directory, left_out)


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
            f"{origin}: the recorded command runs {word!r}, which is not a known C compiler; it was not run"
        )
    if "/" not in word:
        return word
    place = (directory / path).resolve()
    if any(place.is_relative_to(tree.resolve()) for tree in outside):
        raise TreeError(f"{origin}: the recorded compiler {word!r} is inside the tree; it was not run")
    if not any(place.is_relative_to(folder) for folder in program_folders()):
        where = "lies in no folder of programs; it was not run: add its folder to PATH"
        raise TreeError(f"{origin}: the recorded compiler {word!r} {where}")
    return str(place)
