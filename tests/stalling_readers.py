# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything that reads text of a tree, each as a function of one text, and what one of them takes in a process."""

from __future__ import annotations

import os
import resource
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from patch_cases import layout
from stalling_shapes import (
    C_SHAPES,
    JSON_SHAPES,
    KCONFIG_SHAPES,
    MAIL_SHAPES,
    TABLE_SHAPES,
    TOML_SHAPES,
    Shape,
)

from linesmith.analyzer.cli.settings_file import read_tree
from linesmith.analyzer.errors import LinesmithError
from linesmith.analyzer.intent.assertions import assertions
from linesmith.analyzer.intent.conditional import conditions
from linesmith.analyzer.intent.configuration import symbols_in
from linesmith.analyzer.intent.reading import intent_in
from linesmith.analyzer.lint.baseline import read_baseline
from linesmith.analyzer.lint.group_docs import group_docs
from linesmith.analyzer.model import FileChange
from linesmith.patches.body import all_members, parsed
from linesmith.patches.compile_commands import entries
from linesmith.patches.declaration import declaration
from linesmith.patches.included import included, includes_by_macro
from linesmith.patches.kernel_doc import followed
from linesmith.patches.masking import without_comments, without_directives
from linesmith.patches.permutation import permuted
from linesmith.patches.pieces import Origin
from linesmith.patches.records import is_packed, records_named
from linesmith.patches.redeclared import declared, redeclared
from linesmith.patches.scan.carriers import carriers
from linesmith.patches.scan.declared import declares
from linesmith.patches.scan.header_text import header_text
from linesmith.patches.scan.kbuild_commands import kbuild_units
from linesmith.patches.scan.text_places import RecordText
from linesmith.patches.spelling import vocabulary
from linesmith.patches.unified import unified_diff
from linesmith.patches.versions.counterparts import counterparts
from linesmith.patches.versions.declaring import declaring
from linesmith.patches.versions.holding import holding
from linesmith.patches.versions.mail_texts import mails_of
from linesmith.patches.versions.mails import patched
from linesmith.patches.versions.vanished import gone_for_good, vanished
from linesmith.patches.versions.versions import Versions

Reader = Callable[[bytes, Path], object]
RECORD = "queue"
_MEMORY = 4 << 30
SMALL = b"struct queue {\n\tint a;\n\tint b __aligned(8);\n};\n"
WANTED = layout(RECORD, [("a", 0, 4), ("b", 4, 4)], 8, file="include/queue.h", line=1)


def _masked(text: bytes, _: Path) -> None:
    without_directives(without_comments(text))


def _records(text: bytes, _: Path) -> None:
    for name in (RECORD, "queue_t"):
        # A command edits one of them.
        for record in records_named(text, name)[:1]:
            is_packed(text, record)


def _declaration(text: bytes, folder: Path) -> None:
    _tree(folder, {"include/queue.h": text})
    declaration(folder, RECORD, WANTED)


def _described(text: bytes, _: Path) -> None:
    for record in records_named(text, RECORD)[:1]:
        body = parsed(Origin(text, "queue.h"), record)
        members = all_members(body.outer)
        followed(text, record, members, members[::-1])


def _permuted(text: bytes, _: Path) -> None:
    for record in records_named(text, RECORD)[:1]:
        origin = Origin(text, "queue.h")
        permuted(origin, record, all_members(parsed(origin, record).outer)[::-1])


def _included(text: bytes, _: Path) -> None:
    list(included(text))
    includes_by_macro(text)


def _declared(text: bytes, _: Path) -> None:
    declared(text)


def _versions(text: bytes) -> Versions:
    changes = (FileChange("a.h", SMALL, text), FileChange("b.h", text, SMALL), FileChange("c.h", None, text))
    return Versions("old", "new", Path("/nonexistent"), changes)


def _redeclared(text: bytes, _: Path) -> None:
    redeclared(FileChange("a.h", SMALL, text))


def _declaring(text: bytes, _: Path) -> None:
    declaring(_versions(text), ())


def _counterparts(text: bytes, _: Path) -> None:
    counterparts(_versions(text).changes)


def _vanished(text: bytes, folder: Path) -> None:
    versions = Versions("old", "new", folder, _versions(text).changes)
    list(vanished(versions.changes, ()))
    gone_for_good(versions, (RECORD,))


def _holding(text: bytes, folder: Path) -> None:
    _tree(folder, {"include/other.h": text})
    holding(folder, ("struct queue", "queue_t"), (), (RECORD,))


def _places(text: bytes, _: Path) -> None:
    for name in (RECORD, "queue_t"):
        for marked in (text, text + b'\noffsetof(struct queue, a) "vmlinux.h" static_assert(sizeof'):
            RecordText(name).places("include/uapi/queue.h", marked)


def _scanned(text: bytes, _: Path) -> None:
    found = header_text(text)
    if declares((RECORD.encode(),)).search(text):
        carriers(RECORD, [found])


def _led(text: bytes, _: Path) -> None:
    known = carriers(RECORD, [header_text(b"struct queue { int a; }; struct b { struct queue q; };")])
    found = header_text(text)
    words = frozenset((b"queue", b"q", b"a", b"b"))
    if known is not None:
        known.lead(text, words)
        known.lead(found.code, words)


def _asserted(text: bytes, _: Path) -> None:
    list(assertions(text + b"\nCACHELINE_ASSERT_GROUP_", "a.c"))
    conditions(text, ())


def _vocabulary(text: bytes, folder: Path) -> None:
    vocabulary(folder, text, kernel=False)


def _diffed(text: bytes, _: Path) -> None:
    unified_diff(text, text + b"a\n", "a.h")


def _mails(text: bytes, folder: Path) -> None:
    _tree(folder, {"queue.h": SMALL})
    mails = mails_of("a.patch", text)
    for mail in mails:
        assert mail.part is None or mail.part
    patched(folder, mails)


def _intents(text: bytes, _: Path) -> None:
    intent_in(text.decode())


def _settings(text: bytes, folder: Path) -> None:
    (folder / "linesmith.toml").write_bytes(text)
    read_tree(folder / "linesmith.toml")


def _entries(text: bytes, folder: Path) -> None:
    (folder / "compile_commands.json").write_bytes(text)
    entries(folder / "compile_commands.json")


def _baseline(text: bytes, _: Path) -> None:
    read_baseline(text, "baseline.json")


def _kbuild(text: bytes, folder: Path) -> None:
    (folder / ".a.o.cmd").write_bytes(b"cmd_a.o := gcc -c a.c\n\nsource_a.o := a.c\n\ndeps_a.o := \\\n" + text)
    list(kbuild_units(folder))


def _symbols(text: bytes, _: Path) -> None:
    symbols_in(text.decode())


def _tables(text: bytes, _: Path) -> None:
    group_docs({"tcp_sock.rst": text.decode()})


def _tree(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)


C_READERS: tuple[Reader, ...] = (
    _masked, _records, _declaration, _described, _permuted, _included, _declared, _redeclared, _declaring,
    _counterparts, _vanished, _holding, _places, _scanned, _led, _asserted, _vocabulary, _diffed,
)  # fmt: skip
READERS: tuple[tuple[Mapping[str, Shape], tuple[Reader, ...]], ...] = (
    (C_SHAPES, C_READERS),
    (MAIL_SHAPES, (_mails,)),
    (TOML_SHAPES, (_intents, _settings)),
    (JSON_SHAPES, (_entries, _baseline)),
    (KCONFIG_SHAPES, (_symbols, _kbuild)),
    (TABLE_SHAPES, (_tables,)),
)


def cpu_seconds(reader: Reader, text: bytes, limit: int) -> float | None:
    """What the reader takes of the text in a process of its own; ``None`` above ``limit``, or where it fails.

    A refusal is an answer. What the process starts (git, say) is not counted.
    """
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as answer:
        child = os.fork()
        if not child:
            os._exit(_read(reader, text, Path(folder), limit, answer.fileno()))
        _, status = os.waitpid(child, 0)
        answer.seek(0)
        return None if status else float(answer.read())


def _read(reader: Reader, text: bytes, folder: Path, limit: int, answer: int) -> int:
    """The exit status of the process that reads; the seconds go into the file ``answer``."""
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.environ["LINESMITH_CACHE_DIR"] = str(folder / "cache")
        with suppress(LinesmithError):
            reader(text, folder)
    except BaseException:
        traceback.print_exc()
        return 1
    os.write(answer, f"{time.process_time():.3f}".encode())
    return 0
