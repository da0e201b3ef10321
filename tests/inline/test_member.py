# SPDX-License-Identifier: GPL-2.0-or-later
"""The declaration with the object in the pointer's place."""

from __future__ import annotations

from linesmith.patches.declaration import Declared
from linesmith.patches.inline.member import with_object
from linesmith.patches.inline.pointer import pointer_member
from linesmith.patches.records import records_named


def changed(text: str, attribute: str = "__aligned(64)") -> str:
    """``struct area`` of the text with its ``lock`` as a member."""
    source = text.encode()
    declared = Declared("area.h", source, records_named(source, "area")[0], 1.0)
    return with_object(pointer_member(declared, "lock"), attribute).decode()


def test_the_object_is_last_with_its_comments_and_its_conditional() -> None:
    assert changed(
        "struct area {\n"
        "#ifdef LOCKS\n"
        "\tint taken;\n"
        "\t/* Taken by readers. */\n"
        "\tstruct lock *lock; /* own */\n"
        "#endif\n"
        "\tlong end;\n"
        "} __randomize_layout;\n"
    ) == (
        "struct area {\n"
        "#ifdef LOCKS\n"
        "\tint taken;\n"
        "#endif\n"
        "\tlong end;\n"
        "#ifdef LOCKS\n"
        "\t/* Taken by readers. */\n"
        "\tstruct lock lock __aligned(64); /* own */\n"
        "#endif\n"
        "} __randomize_layout;\n"
    )


def test_a_conditional_that_held_nothing_else_moves() -> None:
    assert changed("struct area {\n#ifdef LOCKS\n\tstruct lock *lock;\n#endif\n\tlong end;\n};\n") == (
        "struct area {\n\tlong end;\n#ifdef LOCKS\n\tstruct lock lock __aligned(64);\n#endif\n};\n"
    )


def test_one_of_two_alternatives_stays_in_its_place() -> None:
    text = "struct area {\n#ifdef LOCKS\n\tint a;\n#else\n\tstruct lock *lock;\n#endif\n\tlong end;\n};\n"
    assert changed(text) == text.replace("struct lock *lock;", "struct lock lock __aligned(64);")


def test_an_array_without_length_stays_last() -> None:
    text = "struct area {\n\tstruct lock *lock;\n\tlong ends[];\n};\n"
    assert changed(text) == text.replace("struct lock *lock;", "struct lock lock __aligned(64);")


def test_a_member_of_an_anonymous_struct_stays_in_it() -> None:
    text = "struct area {\n\tstruct {\n\t\tstruct lock *lock;\n\t};\n\tlong end;\n};\n"
    assert changed(text) == text.replace("struct lock *lock;", "struct lock lock __aligned(64);")


def test_without_an_attribute_nothing_is_aligned() -> None:
    assert changed("struct area {\n\tstruct lock *lock;\n};\n", "") == "struct area {\n\tstruct lock lock;\n};\n"


def test_the_kernel_doc_entry_goes_along() -> None:
    text = (
        "/**\n * struct area - one\n * @lock: taken by readers\n * @end: its end\n */\n"
        "struct area {\n\tstruct lock *lock;\n\tlong end;\n};\n"
    )
    assert changed(text).startswith("/**\n * struct area - one\n * @end: its end\n * @lock: taken by readers\n */\n")
