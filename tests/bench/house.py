# SPDX-License-Identifier: GPL-2.0-or-later
"""The house in figures: how large it is, and how much of it a command goes through.

Usage: python tests/bench/house.py [--commands]

Prints files, lines, class names, and private functions of at most four lines that one place calls. With
``--commands`` the example program is built and each command runs on it: modules of ours that are loaded, files whose
functions are called, and how often a call goes from one file into another.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median, quantiles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from demo.example import PROFILE, compiled_in

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("analyzer", "tuner", "plugins", "patches")
SMALL = 4
TRACE = """
import json, sys
from pathlib import Path
root, entered, files = sys.argv[1], 0, set()
sys.argv = ["linesmith", *sys.argv[2:]]
def profile(frame, event, _):
    global entered
    if event != "call":
        return
    file = frame.f_code.co_filename
    if "/linesmith/" not in file and not file.startswith(root) or frame.f_code.co_name == "<module>":
        return
    files.add(file)
    back = frame.f_back
    entered += back is not None and back.f_code.co_filename != file
from linesmith.analyzer.cli import main
sys.setprofile(profile)
try:
    main()
except SystemExit:
    pass
sys.setprofile(None)
loaded = [name for name in sys.modules if name.startswith("linesmith.")]
print("\\n" + json.dumps({"loaded": len(loaded), "files": len(files), "entered": entered}))
"""


def sources() -> list[Path]:
    return [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]


def size_of_house() -> None:
    files = [path for path in sources() if path.name != "__init__.py"]
    lines, lengths, small = 0, list[int](), 0
    classes: dict[str, set[Path]] = defaultdict(set)
    for path in sources():
        text = path.read_text()
        lines += text.count("\n")
        tree = ast.parse(text)
        used = Counter(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        used.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
        called = {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[node.name.lstrip("_")].add(path)
            if isinstance(node, ast.FunctionDef):
                body = node.body[ast.get_docstring(node) is not None :] or node.body
                length = (body[-1].end_lineno or 0) - body[0].lineno + 1
                lengths.append(length)
                private = node.name.startswith("_") and not node.name.startswith("__")
                once = used[node.name] == 1 and node.name in called
                small += private and length <= SMALL and once and not node.decorator_list
    shared = sorted(name for name, places in classes.items() if len(places) > 1)
    below = sum(path.read_text().count("\n") < 80 for path in files)
    print(f"files without __init__.py     {len(files)}, {below} of them below 80 lines")
    print(f"lines of Python               {lines}")
    print(f"functions                     {len(lengths)}, median {median(lengths):.0f} lines, ", end="")
    print(f"90 % up to {quantiles(lengths, n=10)[-1]:.0f}, longest {max(lengths)}")
    print(f"private, small, one caller    {small}")
    print(f"class names in several files  {len(shared)}: {', '.join(shared)}")


def paths_of_commands() -> None:
    """Print what each command loads and goes through on the example."""
    with tempfile.TemporaryDirectory() as name:
        folder = shutil.copytree(ROOT / "analyzer" / "demo" / "sources", Path(name) / "example")
        program = compiled_in(folder)
        profile = program.with_name(PROFILE)
        calls = {
            "layout": ["layout", program],
            "hot": ["hot", program, profile],
            "suggest": ["suggest", program, profile],
            "patch": ["patch", program, profile, "--tree", program.parent, "--cflags=-std=c11"],
        }
        environment = os.environ | {"XDG_CACHE_HOME": name}
        print(f"{'command':10}{'modules':>9}{'files':>9}{'entered':>10}")
        for command, words in calls.items():
            run = [sys.executable, "-c", TRACE, str(ROOT), *map(str, words)]
            done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.rstrip().splitlines()[-1])
            print(f"{command:10}{found['loaded']:9}{found['files']:9}{found['entered']:10,}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commands", action="store_true", help="also run commands on the example")
    size_of_house()
    if parser.parse_args().commands:
        paths_of_commands()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
