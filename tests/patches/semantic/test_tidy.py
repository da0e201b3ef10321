# SPDX-License-Identifier: GPL-2.0-or-later
"""Lines that were broken by rule are laid out as a person does; lines that did not change stay."""

from __future__ import annotations

from linesmith.patches.semantic.tidy import tidy


def test_arguments_of_one_line_are_filled_up() -> None:
    before = b"\tfor_each_range(item, &mapping->tree_of_all_items, first, last) {\n\t\tuse(item);\n"
    after = (
        b"\tfor_each_range(item, get_tree_of_all_items_root(mapping),\n"
        b"\t\t       first,\n"
        b"\t\t       last) {\n"
        b"\t\tuse(item);\n"
    )
    assert tidy(before, after) == (
        b"\tfor_each_range(item, get_tree_of_all_items_root(mapping), first, last) {\n\t\tuse(item);\n"
    )


def test_an_argument_joins_the_line_below_that_stays() -> None:
    before = b"\tunmap_range(&mapping->tree, first_index,\n\t\t    last_index, &details);\n"
    after = (
        b"\tunmap_range(get_root_of_the_tree_of_a_mapping(mapping->with_a_long_name),\n"
        b"\t\t    first_index,\n"
        b"\t\t    last_index, &details);\n"
    )
    assert tidy(before, after) == (
        b"\tunmap_range(get_root_of_the_tree_of_a_mapping(mapping->with_a_long_name),\n"
        b"\t\t    first_index, last_index, &details);\n"
    )


def test_blanks_become_tabs_where_the_old_lines_have_tabs() -> None:
    before = b"\tinsert(vma, &mapping->tree);\n"
    after = b"\tinsert(vma_with_a_rather_long_name_for_a_variable_of_this_kind,\n               root_of(mapping));\n"
    assert tidy(before, after).endswith(b"\n\t       root_of(mapping));\n")


def test_members_of_an_initialiser_keep_their_lines() -> None:
    before = b"\t.a = x->m,\n\t.b = 1,\n"
    after = b"\t.a = m(x),\n\t.b = 1,\n"
    assert tidy(before, after) == after


def test_breaks_that_were_there_stay() -> None:
    before = b"\tf(x->m,\n\t  b, /* why */\n\t  c);\n"
    after = b"\tf(m(x),\n\t  b, /* why */\n\t  c);\n"
    assert tidy(before, after) == after


def test_a_line_below_follows_a_bracket_that_moved() -> None:
    before = b"\tx->m.f(a,\n\t      b);\n"
    after = b"\tmember(x)->f(a,\n\t             b);\n"
    assert tidy(before, after) == b"\tmember(x)->f(a,\n\t\t     b);\n"
