# SPDX-License-Identifier: GPL-2.0-or-later
"""The compiler options that are taken from a recorded command line; every other option is left out.

Command lines come from files of a tree (``compile_commands.json``, Kbuild's ``.NAME.cmd``), and a tree under review is
not trusted. gcc and clang have options that load code (``-fplugin=``, ``-fcompare-debug=-fplugin=…``, ``-mllvm``,
``-B``, ``-specs=``, ``-wrapper``), that write files (``-fopt-info-all=``, ``-ftime-trace=``, ``-fdeps-file=``) and that
read further options (``@FILE``), and each release has more. So options are not refused by name: an option is used only
where a rule below allows it, and each rule says why a layout needs it. Values have no comma, quote or white space
unless the rule says so; the words are handed to the compiler as they are, never to a shell.

Sources: gcc(1) of GCC 12 to 15, clang(1) and ``clang -cc1 --help`` of LLVM 14 to 20.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OptionRule:
    """Options that are used as one word: those that ``pattern`` matches as a whole, and the ``reason`` for them."""

    pattern: str
    reason: str


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

RULES = (
    OptionRule("-std=[A-Za-z0-9+:]+|-ansi", "the language in which records are declared"),
    OptionRule("-(?:nostdinc|nostdlibinc|nobuiltininc|undef|trigraphs)", "which headers and macros there are"),
    OptionRule("-m(?:16|32|64|x32|31|eabi|lp64|ilp32|lp64d)", "the sizes of long and of pointers"),
    OptionRule("-m(?:arch|cpu|tune|abi|isa-spec|fpu|float-abi|cpu-32|arch-32)=[A-Za-z0-9_.+-]+",
         "the ABI, and macros by which headers choose"),
    OptionRule(f"-m(?:no-)?(?:{_X86_FEATURES})", "vector types, and macros by which headers choose (x86)"),
    OptionRule(f"-m(?:no-)?(?:{_OTHER_FEATURES})",
               "types, byte order, and macros by which headers choose (other machines)"),
    OptionRule("-m(?:regparm|cmodel|preferred-stack-boundary|stack-alignment|incoming-stack-boundary|tls-dialect|tls-size|"
         "branch-protection|indirect-branch|function-return|harden-sls|stack-protector-guard|"
         "stack-protector-guard-reg|stack-protector-guard-offset|sign-return-address|long-double|align|tp|"
         "structure-size-boundary|float-gprs|call)=[A-Za-z0-9_.+-]+",
         "how functions and inline assembler of headers compile; some set macros"),
    OptionRule("-m(?:rtd|fentry|record-mcount|nop-mcount|pic-data-is-text-relative|profile-kernel|retpoline|"
               "retpoline-external-thunk)",
         "how functions of headers compile"),
    OptionRule("-f(?:no-)?(?:pack-struct|short-enums|short-wchar|short-double|signed-char|unsigned-char|signed-bitfields|"
         "unsigned-bitfields|ms-extensions|plan9-extensions|ms-compatibility|blocks|char8_t|common)|-fpack-struct=[0-9]+",
         "the layout itself: packing, enumerations, characters, unnamed members"),
    OptionRule("-frandomize-layout-seed(?:-file)?=[^\\s,'\"]+", "the order of members where clang shuffles them"),
    OptionRule("-f(?:no-)?(?:freestanding|hosted|asm|gnu-keywords|gnu89-inline|builtin|extended-identifiers|"
         "dollars-in-identifiers|lax-vector-conversions|permissive|openmp|openmp-simd|openacc|exceptions|"
         "non-call-exceptions|rtti|heinous-gnu-extensions|declspec|borland-extensions|cilkplus)"
         "|-f(?:no-)?builtin-[a-z0-9_]+|-flax-vector-conversions=[a-z]+|-finput-charset=[A-Za-z0-9-]+"
         "|-fopenmp=[a-z0-9]+", "what the parser accepts, and macros by which headers choose"),
    OptionRule("-pthread|-fPIC|-fpic|-fPIE|-fpie|-fno-(?:PIC|pic|PIE|pie)|-f(?:no-)?plt",
         "macros by which headers choose (_REENTRANT, __PIC__)"),
    OptionRule("-f(?:no-)?stack-protector(?:-strong|-all|-explicit)?|-fcf-protection(?:=[a-z]+)?"
         "|-f(?:no-)?sanitize(?:-recover|-trap)?=[a-z,-]+|-f(?:no-)?sanitize-coverage=[a-z0-9,-]+"
         "|-f(?:no-)?sanitize-cfi-icall-(?:generalize-pointers|experimental-normalize-integers)",
         "macros by which headers choose (__SSP__, __SANITIZE_ADDRESS__, __CET__)"),
    OptionRule("-O[0-3sgz]?|-Ofast", "headers assert at compile time what only an optimizer sees (BUILD_BUG_ON)"),
    OptionRule("-f(?:no-)?(?:strict-aliasing|strict-overflow|wrapv|delete-null-pointer-checks|inline|"
         "inline-functions-called-once|inline-small-functions|optimize-sibling-calls|omit-frame-pointer|jump-tables|"
         "conserve-stack|stack-check|stack-clash-protection|allow-store-data-races|function-sections|data-sections|"
         "asynchronous-unwind-tables|unwind-tables|merge-all-constants|partial-inlining|ipa-cp-clone|ipa-icf|"
         "tree-loop-distribute-patterns|code-hoisting|gcse|reorder-blocks|semantic-interposition|math-errno|"
         "finite-math-only|trapping-math|fast-math|unroll-loops|tree-vectorize|split-stack|align-functions|align-jumps|"
         "align-loops|keep-inline-functions|visibility-inlines-hidden)"
         "|-f(?:align-functions|align-jumps|align-loops|min-function-alignment|trivial-auto-var-init|zero-call-used-regs|"
         "patchable-function-entry|visibility|strict-flex-arrays|inline-limit|tls-model|excess-precision|fp-model|"
         "fp-contract)=[A-Za-z0-9_.,-]+|-fstrict-flex-arrays",
         "which warnings and errors the compiler gives, so that those of a change are told from those before it"),
    OptionRule("-W(?:no-)?(?:error=)?[a-z0-9][a-z0-9+-]*(?:=[A-Za-z0-9_-]+)?|-w|-pedantic|-pedantic-errors|"
         "-Qunused-arguments", "which warnings the compiler gives; those that a change brings are shown"),
)  # fmt: skip
_ALLOWED = re.compile("|".join(f"(?:{rule.pattern})" for rule in RULES))

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


@dataclass(frozen=True, slots=True)
class UsedOptions:
    """The options that are used, and those of which a reader should know that they are not."""

    options: tuple[str, ...]
    left_out: tuple[str, ...]


def chosen(words: Sequence[str]) -> UsedOptions:
    """What is used of the words behind the compiler; sources, outputs and dependency files fall away unmentioned."""
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
    return UsedOptions(tuple(options), tuple(dict.fromkeys(left_out)))


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
