# SPDX-License-Identifier: GPL-2.0-or-later
"""The member expressions of many sources: the program ``member_expressions`` on several processes.

    python tests/access/member_expressions.py DATABASE -o expressions.jsonl.gz [--only 'mm/*' ...] [--processes 2]

DATABASE is a directory with a compile_commands.json. The output is what the program prints, every expression of a
line once. Sources that the parser could not read to the end are named; a source that ends the program costs itself
only.
"""

from __future__ import annotations

import argparse
import fnmatch
import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

BUILT = "build/dev/plugins/member_expressions/member_expressions"
SOURCES_AT_ONCE = 40
SECONDS_A_SOURCE = 60


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a run of the program gave: expressions as printed, and the state of each source it came to."""

    expressions: frozenset[bytes]
    sources: tuple[dict[str, object], ...]


def program() -> Path | None:
    """The program: ``LINESMITH_MEMBER_EXPRESSIONS``, else that of ``make native``, else the one on the path."""
    built = Path(__file__).parents[2] / BUILT
    named = os.environ.get("LINESMITH_MEMBER_EXPRESSIONS") or (str(built) if built.exists() else None)
    found = named or shutil.which("member_expressions")
    return Path(found) if found else None


def run(executable: Path, arguments: Sequence[str], seconds: float) -> Parsed:
    """One run of the program; what it printed before it failed counts."""
    command = [str(executable), *arguments]
    try:
        printed = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds).stdout
    except subprocess.TimeoutExpired as late:
        printed = late.stdout or b""
    lines = printed.splitlines()
    ends = tuple(json.loads(line) for line in lines if line.startswith(b'{"source"') and line.endswith(b"}"))
    return Parsed(frozenset(line for line in lines if line.startswith(b'{"file"') and line.endswith(b"}")), ends)


def parse(executable: Path, database: Path, sources: Sequence[str]) -> Parsed:
    """Parse the sources in one process; where that dies, each source behind the last finished one on its own."""
    parsed = run(executable, ["-p", str(database), *sources], SECONDS_A_SOURCE * len(sources))
    done = {str(end["source"]) for end in parsed.sources}
    left = [source for source in sources if source not in done]
    if len(sources) == 1:
        lost = tuple({"source": source, "errors": 1, "fatal": True} for source in left)
        return Parsed(parsed.expressions, parsed.sources + lost)
    parts = [parsed, *(parse(executable, database, [source]) for source in left)]
    expressions: frozenset[bytes] = frozenset().union(*(part.expressions for part in parts))
    return Parsed(expressions, tuple(end for part in parts for end in part.sources))


def batches(sources: Sequence[str]) -> Iterator[Sequence[str]]:
    """The sources in lots of one process each."""
    for first in range(0, len(sources), SOURCES_AT_ONCE):
        yield sources[first : first + SOURCES_AT_ONCE]


def chosen(database: Path, patterns: Sequence[str]) -> list[str]:
    """Sources of the database whose object or path matches a pattern, each once, in order."""
    entries = json.loads((database / "compile_commands.json").read_text())
    kept: dict[str, None] = {}
    for entry in entries:
        path = str(Path(entry["directory"]) / entry["file"])
        names = (entry["file"], entry.get("output", path))
        if any(fnmatch.fnmatch(name, pattern) for name in names for pattern in patterns):
            kept[os.path.normpath(path)] = None
    return list(kept)


def parse_all(executable: Path, database: Path, sources: Sequence[str], processes: int, output: Path) -> list[str]:
    """Write the expressions of every source to ``output``; those with errors are returned, as text."""
    seen: set[int] = set()
    ends: list[dict[str, object]] = []
    with gzip.open(output, "wb", compresslevel=3) as written, ThreadPoolExecutor(processes) as pool:
        for parsed in pool.map(lambda lot: parse(executable, database, lot), batches(sources)):
            fresh = [line for line in parsed.expressions if hash(line) not in seen]
            seen.update(map(hash, fresh))
            written.writelines(line + b"\n" for line in fresh)
            ends.extend(parsed.sources)
            print(f"{len(ends)} of {len(sources)} sources, {len(seen)} expressions", file=sys.stderr)
    return [f"{end['source']}: {end['errors']} errors" for end in ends if end["errors"]]


def main() -> None:
    """Parse what the options name and say what could not be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="of objects or source paths")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    executable = program()
    if executable is None:
        raise SystemExit("member_expressions is not built: install libclang-19-dev and llvm-19-dev, then make native.")
    sources = chosen(options.database, options.only)
    failed = parse_all(executable, options.database, sources, options.processes, options.output)
    print(f"{len(sources)} sources, {len(failed)} with errors")
    print("\n".join(failed))


if __name__ == "__main__":
    main()
