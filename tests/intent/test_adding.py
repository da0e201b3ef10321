# SPDX-License-Identifier: GPL-2.0-or-later
"""Types added to a file that somebody keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.errors import IntentError
from linesmith.analyzer.intent import intent_in, read_intent
from linesmith.analyzer.intent.kept import add_to
from linesmith.analyzer.model import TypeIntent

KEPT = (
    "# ours\r\n[[type]]\r\nname=\"inode\"   # odd, but ours\r\nreason = 'path walk'\r\n\r\n"
    '[[suppress]]\r\nrule = "*"\r\ntype = "x"\r\nreason = "r"'
)
PIPE = TypeIntent("pipe", "full")


def test_what_is_there_stays_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "linesmith.toml"
    path.write_bytes(KEPT.encode())
    path.chmod(0o640)
    add_to(path, (PIPE,))
    text = path.read_bytes().decode()
    assert text == f'{KEPT}\n\n[[type]]\nname = "pipe"\nreason = "full"\n'
    assert [one.record for one in intent_in(text).types] == ["inode", "pipe"]
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_not_there_is_made_and_an_entry_for_another_configuration_is_added(tmp_path: Path) -> None:
    path = tmp_path / "linesmith.toml"
    add_to(path, (PIPE,))
    assert path.read_text() == '[[type]]\nname = "pipe"\nreason = "full"\n'
    add_to(path, (TypeIntent("pipe", "small", configuration=("!CONFIG_SMP",)),))
    assert [one.reason for one in read_intent(path).types] == ["full", "small"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '# mine\n[[type]]\nname = "pipe"\nreason = "mine"\n',
            r"linesmith\.toml:2: pipe has an entry, which stays as it is",
        ),
        ("[[type]\n", "this is no TOML"),
        (
            'type = [{name = "inode", reason = "r"}]\n',
            "nothing can be added behind its end .*; write each type as a table",
        ),
    ],
)
def test_a_file_that_cannot_be_added_to_is_not_touched(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "linesmith.toml"
    path.write_text(text)
    with pytest.raises(IntentError, match=said):
        add_to(path, (PIPE,))
    assert path.read_text() == text


def test_a_symbolic_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "other").write_text("")
    (tmp_path / "linesmith.toml").symlink_to("other")
    with pytest.raises(IntentError, match="is a symbolic link"):
        add_to(tmp_path / "linesmith.toml", (PIPE,))
