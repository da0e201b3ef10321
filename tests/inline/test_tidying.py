# SPDX-License-Identifier: GPL-2.0-or-later
"""What statements leave behind when they go: labels, conditionals."""

from __future__ import annotations

from linesmith.patches.inline.conditionals import conditionals, without_emptied
from linesmith.patches.inline.labels import without_unused_labels

BEFORE = b"""\
int f(int a)
{
	if (a)
		goto out_b;
	if (a > 1)
		goto out_a;
	return 0;
out_a:
	g();
out_b:
	h();
never:
	return 1;
}
"""


def test_a_label_goes_with_the_last_jump_to_it() -> None:
    after = BEFORE.replace(b"\tif (a)\n\t\tgoto out_b;\n", b"")
    assert without_unused_labels(BEFORE, after) == after.replace(b"out_b:\n", b"")


def test_what_only_a_label_led_to_goes_with_it() -> None:
    before = b"int f(int a)\n{\n\tif (a)\n\t\tgoto out;\n\treturn 0;\n\nout:\n\tg();\n\treturn 1;\n}\n"
    after = before.replace(b"\tif (a)\n\t\tgoto out;\n", b"")
    assert without_unused_labels(before, after) == b"int f(int a)\n{\n\treturn 0;\n}\n"


def test_a_label_of_that_name_in_another_function_stays() -> None:
    other = BEFORE.replace(b"f(", b"e(")
    after = BEFORE.replace(b"\tif (a)\n\t\tgoto out_b;\n", b"")
    assert without_unused_labels(BEFORE + other, after + other) == after.replace(b"out_b:\n", b"") + other


def test_a_conditional_goes_when_it_has_become_empty() -> None:
    before = b"a;\n#ifdef X\nb;\n#endif\n#ifdef Y\n#endif\n"
    after = b"a;\n#ifdef X\n#endif\n#ifdef Y\n#endif\n"
    assert without_emptied(before, after) == b"a;\n#ifdef Y\n#endif\n"


def test_the_conditionals_around_a_place() -> None:
    source = b"#if A\n#if B\n#endif\n#ifdef C\n#else\nhere\n"
    around = conditionals(source, source.index(b"here"))
    assert [(one.opening, one.alternative) for one in around] == [(b"#if A\n", False), (b"#ifdef C\n", True)]
