# SPDX-License-Identifier: GPL-2.0-or-later
"""The compilation database of a kernel that is configured but not built, from what make would run.

    make -C SOURCE O=OBJECTS -n -k V=1 vmlinux > commands.txt
    python tests/access/kernel_commands.py OBJECTS < commands.txt

OBJECTS must be prepared (make olddefconfig prepare). Writes OBJECTS/compile_commands.json; make's own failure at the
end, where it misses the objects it did not build, does not matter.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

# Kbuild prints a command once to be shown, inside echo's quotes, and once to be run, behind its traps.
COMPILATION = re.compile(r"(?:^|; )\s*(\S*gcc [^;]*? -c -o (\S+\.o) (\S+\.c)) *;")


def compilations(lines: Iterable[str], directory: Path) -> Iterator[dict[str, object]]:
    """Entries of a compilation database: one for each C file of the kernel that some line compiles."""
    for line in lines:
        found = COMPILATION.search(line[line.rfind("trap - PIPE") :] if "trap - PIPE" in line else line)
        # Programs of the build itself (scripts, objtool) are compiled without __KERNEL__.
        if found and "-D__KERNEL__" in found[1]:
            yield {
                "directory": str(directory),
                "arguments": shlex.split(found[1]),
                "file": found[3],
                "output": found[2],
            }


def main() -> None:
    """Write the database of the object tree named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", type=Path, help="the object tree (O=)")
    objects = parser.parse_args().objects.absolute()
    entries = list(compilations(sys.stdin, objects))
    (objects / "compile_commands.json").write_text(json.dumps(entries, indent=0))
    print(f"{len(entries)} compilations")


if __name__ == "__main__":
    main()
