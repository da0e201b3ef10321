# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether recorded callers call that code: ``python tests/bench/callers_against_code.py VMLINUX PROFILE``.

Each pair of a function and its caller, out of the call paths of a recording, is looked for among the call instructions
of the kernel. A function that is entered by a jump from one that the caller calls is a tail call; a pair is possible
where the caller, or what it calls and is left by a jump, has calls by pointer. Figures
are shares of contended accesses; objdump reads the code.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

from linesmith.plugins.profiles.recorded import read_recorded

FUNCTION = re.compile(r"[0-9a-f]{16} <(\S+)>:$")
JUMP = re.compile(r"\t(?:cs )*(call|j[a-z]+)\s+(\*|%|[0-9a-f]+ <(__x86_indirect_thunk_array|[^+>]+(?=>)))")


def code(vmlinux: Path) -> tuple[dict[str, set[str]], dict[str, set[str]], set[str]]:
    """Functions by who calls them and by who jumps to their start, and those that call by pointer."""
    called: defaultdict[str, set[str]] = defaultdict(set)
    jumped: defaultdict[str, set[str]] = defaultdict(set)
    by_pointer: set[str] = set()
    argv = ("objdump", "-d", "--no-show-raw-insn", str(vmlinux))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        function = ""
        for row in process.stdout or ():
            if match := FUNCTION.match(row):
                function = match[1]
            elif match := JUMP.search(row):
                target = match[3]
                if target is None or "indirect_thunk" in target or target.startswith("__SCT__"):
                    by_pointer.add(function)
                elif match[1] == "call":
                    called[function].add(target)
                elif target != function:
                    jumped[function].add(target)
    return called, jumped, by_pointer


def entered(start: set[str], jumped: dict[str, set[str]]) -> set[str]:
    """The functions, and those that jumps lead to from one of them."""
    seen, new = set(start), set(start)
    while new:
        new = {two for one in new for two in jumped.get(one, ())} - seen
        seen |= new
    return seen


def main() -> None:
    """Print how the pairs of a recording are found."""
    (profile,) = read_recorded(Path(sys.argv[2]), sys.argv[2])
    called, jumped, by_pointer = code(Path(sys.argv[1]))
    pairs: Counter[tuple[str, str]] = Counter()
    contended = told = 0
    for access in (access for line in profile.lines for access in line.accesses if access.function):
        contended += access.contended
        for path in access.call_paths:
            told += path.count
            names = (access.function or "", *path.functions)
            pairs.update(dict.fromkeys(zip(names[1:], names, strict=False), 0))
            for pair in zip(names[1:], names, strict=False):
                pairs[pair] += path.count
    found: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for (caller, callee), count in pairs.items():
        if callee in called[caller]:
            kind = "a call"
        elif callee in (reached := entered(called[caller], jumped)):
            kind = "a tail call"
        else:
            kind = "possible by pointer" if by_pointer & (reached | {caller}) else "not in the code"
        kinds[kind] += 1
        found[kind] += count
        if kind == "not in the code":
            print(f"  {count:6} {caller} -> {callee}")
    print(f"{told / contended:.2%} of {contended:,} contended accesses have callers, {len(pairs):,} pairs of functions")
    for kind, count in found.most_common():
        print(
            f"{kind:20} {kinds[kind]:6} pairs {kinds[kind] / len(pairs):7.2%} {count / found.total():7.2%} of accesses"
        )


if __name__ == "__main__":
    main()
