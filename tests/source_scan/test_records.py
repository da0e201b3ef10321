# SPDX-License-Identifier: GPL-2.0-or-later
"""Where records and the atoms of their members stand: the cases of ``cases/records.txt``.

Lines that begin with ``=`` are what the program says: of the record its kind, line and size, and its first and last
line; of each member its offset and width in bits, what it is inside of, the macro that gives it, the others of its
declaration, its atom, its declaration where that is another text, and its descriptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from source_scan.scanner import Unit, run
from text_cases import TextCase, read_cases, text_cases

CASES = Path(__file__).with_name("cases") / "records.txt"


def text_of(case: TextCase) -> str:
    return "".join(f"{line}\n" for line in case.lines if not line.startswith("="))


@pytest.fixture(scope="module")
def records(executable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Unit]]:
    """What one run of the program says of the record of each case."""
    folder, cases = tmp_path_factory.mktemp("records"), list(read_cases(CASES))
    for number, case in enumerate(cases):
        (folder / f"{number}.c").write_text(text_of(case))
    commands = [{"directory": str(folder), "file": f"{at}.c", "arguments": ["gcc"]} for at in range(len(cases))]
    units = run(executable, ["rec"], commands)
    assert [unit["complaint"] for unit in units] == [""] * len(cases)
    return {case.title: unit["records"] for case, unit in zip(cases, units, strict=True)}


@text_cases(CASES)
def test_a_record_and_its_members(records: dict[str, list[Unit]], case: TextCase) -> None:
    (record,) = records[case.title]
    assert list(described(record, text_of(case))) == [line for line in case.lines if line.startswith("=")]


def described(record: Unit, text: str) -> Iterator[str]:
    words = [record["kind"], "in line", record["line"], "of", record["bytes"], "bytes"]
    words += [word for word in ("packed", "randomized") if record[word]]
    lines, body = text[record["start"] : record["end"]].splitlines(), text[slice(*record["body"])]
    assert (body[0], body[-1]) == ("{", "}")
    words += ["from", repr(lines[0]), "to", repr(lines[-1])]
    yield f"= {' '.join(map(str, words))}"
    if record["comment"]:
        yield f"= comment {text[slice(*record['comment'])]!r}"
    for member in record["members"]:
        atom, declaration = text[member["start"] : member["end"]], text[slice(*member["declaration"])]
        words = [member["name"] or "-", f"{member['offset_bits']}+{member['bits']}"]
        words += [f"inside {member['inside']}"] if member["inside"] >= 0 else []
        words += [f"by {member['macro']}"] if member["macro"] else []
        words += [f"with {' '.join(one or '-' for one in member['others'])}"] if member["others"] else []
        words += [repr(atom)] + ([f"declared {declaration!r}"] if declaration != atom.strip() else [])
        words += [f"described {text[slice(*place)]!r}" for place in member["docs"]]
        yield f"= {' '.join(words)}"
