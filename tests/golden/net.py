# SPDX-License-Identifier: GPL-2.0-or-later
"""What every command prints, taken before a change that must not alter it and compared after: a net for moving code.

    python tests/golden/net.py take FOLDER [--only WORDS]
    python tests/golden/net.py compare FOLDER [--only WORDS]

``take`` writes the output, errors and exit status of the lines of ``lines.txt`` into FOLDER, with the inputs that they
read; ``compare`` runs them again on the same inputs and prints each difference, with exit status 1. Outputs differ
between compilers and kernels, so FOLDER belongs to one machine. Lines that name what is not there (a kernel, the
reports) are left out and counted.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = Path(__file__).with_name("lines.txt")
LINESMITH = Path(sys.executable).with_name("linesmith")
SOURCES = ROOT / "analyzer" / "demo" / "sources"
CACHE_HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
SECONDS = 1200
# What differs between two runs of the same command.
_VARYING = (
    (re.compile(r"\d+(\.\d+)? s\b"), "SECONDS"),
    (re.compile(r"/tmp/[\w.-]+"), "TMP"),  # noqa: S108 - a name in a text
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?"), "TIME"),
    (re.compile(r"^Date: .*$", re.MULTILINE), "Date: DATE"),
    (re.compile("^linesmith: analyzing the code of .*\\n", re.MULTILINE), ""),
)


def places(folder: Path) -> dict[str, Path]:
    """What a line may name, where it is there."""
    parts = CACHE_HOME / "linesmith-tests"
    found = {
        "out": folder / "results",
        "vmlinux": next(iter(sorted(parts.glob("vmlinux-*"), reverse=True)), parts / "vmlinux"),
        "tree": parts / "linux-source-6.1",
        "seeds": ROOT.parent / "shared" / "seeds",
        "corpus": ROOT.parent / "shared" / "corpus" / "c2c",
    }
    return {name: place for name, place in found.items() if place.exists()}


def build(folder: Path) -> None:
    """Compile the example program there."""
    files = ("guard.c", "session_index.c", "bench.c")
    subprocess.run(["cc", "-std=c11", "-O2", "-g", "-pthread", "-o", "bench", *files], cwd=folder, check=True)


def furnish(folder: Path) -> None:
    """Write the inputs: the example and its patched build, and a patch that moves the semaphore of address_space."""
    example = folder / "inputs"
    (folder / "results").mkdir(parents=True, exist_ok=True)
    if (example / "patched").exists():
        return
    shutil.copytree(SOURCES, example)
    build(example)
    shutil.copy(example / "bench.c2c", example / "again.c2c")
    units = [
        {"directory": str(example), "file": file.name, "command": f"cc -std=c11 -c {file.name}"}
        for file in example.glob("*.c")
    ]
    (example / "compile_commands.json").write_text(json.dumps(units))
    patch = run(["patch", "bench", "bench.c2c", "--tree", ".", "--cflags=-std=c11"], folder)
    fixed = folder / "fixed"
    shutil.copytree(SOURCES, fixed)
    subprocess.run(["patch", "-p1", "-s"], cwd=fixed, input=patch.stdout, check=True)
    build(fixed)
    (fixed / "bench").rename(example / "patched")
    header = places(folder).get("tree", Path("/nowhere")) / "include/linux/fs.h"
    if header.is_file():
        (folder / "results" / "move.patch").write_text(moved(header.read_text("utf-8")))


def moved(before: str) -> str:
    """The patch of 2023: the semaphore behind ``flags``."""
    lock, flags = "\tstruct rw_semaphore\ti_mmap_rwsem;\n", "\tunsigned long\t\tflags;\n"
    head, _, rest = before.partition("struct address_space {")
    body = rest.replace(lock, "", 1).replace(flags, flags + lock, 1)
    after = f"{head}struct address_space {{{body}"
    texts = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*texts, "a/include/linux/fs.h", "b/include/linux/fs.h"))


def run(words: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run one command line in the folder of the example, with a cache of its own and a terminal of 100 columns."""
    environment = {**os.environ, "LINESMITH_CACHE_DIR": str(folder / "cache"), "COLUMNS": "100"}
    return subprocess.run(
        [LINESMITH, *words],
        cwd=folder / "inputs",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )


def lines(known: Mapping[str, Path], only: str) -> Iterator[tuple[str, list[str] | None]]:
    """Each line, and its words where everything that it names is there."""
    for line in LINES.read_text("utf-8").splitlines():
        if line.startswith("#") or only not in line:
            continue
        names = re.findall(r"\{(\w+)\}", line)
        there = all(name in known for name in names)
        yield line, shlex.split(line.format_map({name: str(known[name]) for name in names})) if there else None


def printed(words: list[str], folder: Path) -> str:
    """What the line prints, without what differs between two runs."""
    done = run(words, folder)
    text = f"status {done.returncode}\n{done.stdout.decode('utf-8', 'replace')}"
    text += f"---- errors\n{done.stderr.decode('utf-8', 'replace')}"
    text = text.replace(str(folder), "FOLDER")
    for varying, name in _VARYING:
        text = varying.sub(name, text)
    return text


def difference(line: str, before: str, after: str) -> str:
    """The changed lines; empty where nothing changed."""
    texts = (before.splitlines(keepends=True), after.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*texts, f"before: {line}", f"after: {line}", n=1))


def main() -> None:
    """Take the net, or compare with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("take", "compare"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="lines with these words")
    asked = parser.parse_args()
    folder: Path = asked.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    furnish(folder)
    net = folder / "net"
    net.mkdir(exist_ok=True)
    wanted = list(lines(places(folder), asked.only))
    possible = [(line, words) for line, words in wanted if words is not None]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda one: printed(one[1], folder), possible))
    changed = 0
    for (line, _), result in zip(possible, results, strict=True):
        kept = net / blake2b(line.encode(), digest_size=8).hexdigest()
        if asked.action == "take":
            kept.write_text(f"$ linesmith {line}\n{result}", "utf-8")
        elif text := difference(line, kept.read_text("utf-8").partition("\n")[2], result):
            changed += 1
            print(text)
    print(f"{len(possible)} lines, {changed} changed, {len(wanted) - len(possible)} left out for want of their inputs")
    raise SystemExit(int(changed > 0))


if __name__ == "__main__":
    main()
