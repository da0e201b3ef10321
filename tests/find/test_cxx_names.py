# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions of C++, as people write them and perf cuts them: found by these names, and called so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from find.lines import Built, line_of, profile_of

from linesmith.analyzer.access.store import read_accesses
from linesmith.analyzer.base.text import plain_name
from linesmith.analyzer.comparison.compare import ProfileFindings, compare
from linesmith.analyzer.layouts.dwarf import read_layouts
from linesmith.analyzer.model import Access
from linesmith.analyzer.sharing.analysis import Explanation, explain

TILL = "shop::Till::quote"
MEAN = "shop::Mean<double>::mean"
LAMBDA = "shop::Till::sell()::{lambda(shop::Stock*)#1}::operator()(shop::Stock*) const"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("Q<A(int)>::push(int)", "Q::push"),
        ("Q<(A)1, (B>C)>::push", "Q::push"),
        ("double shop::Mean<std::pair<int, int> >::mean() const", "shop::Mean::mean"),
        ("(anonymous namespace)::Pool::take(int)", "(anonymous namespace)::Pool::take"),
        ("Foo::operator()(int)", "Foo::operator()"),
        ("Foo<int>::operator->() const", "Foo::operator->"),
        ("std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)", "std::operator<<"),
        ("void* Foo::operator new[](unsigned long)", "Foo::operator new[]"),
        ("operators::run(int)", "operators::run"),
        ("Foo::~Foo()", "Foo::~Foo"),
    ],
)
def test_only_scopes_and_name_are_left(written: str, plain: str) -> None:
    assert plain_name(written) == plain


@pytest.mark.parametrize(
    "written",
    [
        "run(W*)::{lambda(Q*)#1}::operator()(Q*) const",
        "Foo::run(int) const::Local::push(int)",
        "run(W*)::'lambda'(Q*)::operator()(Q*) const",
        "Foo::operator bool() const",
        "Foo::operator newer() const",
        "a:" + "<" * 120_000,
    ],
    ids=["lambda", "local class", "lambda of LLVM", "conversion", "conversion to newer", "long"],
)
def test_code_within_a_function_and_conversions_keep_their_names(written: str) -> None:
    assert plain_name(written) == written


def found(built: Built, rows: Sequence[tuple[int, str]]) -> Explanation:
    """Of another build, whose code lies elsewhere: only the names tell what is touched. ``~``: perf cut it here."""
    program = built("tills.cc", "-O1", compiler="g++")
    met = [
        Access(at, name.rstrip("~"), hitm_local=90, stores_l1_hit=9, symbol_cut=name.endswith("~"), kernel=False)
        for at, name in rows
    ]
    tills = read_accesses(program).accesses
    return explain(read_layouts(program), profile_of(line_of(met)), map_of=lambda _: tills)


@pytest.mark.parametrize(
    ("rows", "members"),
    [
        ([(0, TILL), (8, "shop::Till::sell"), (16, "shop::Till::sell")], ["price", "sold", "open"]),
        ([(0, f"{TILL}(int)"), (8, "shop::Till::sell()")], ["price", "sold"]),
        ([(8, MEAN), (16, MEAN)], ["sum", "number"]),
        ([(8, f"double {MEAN}() const"), (16, MEAN)], ["sum", "number"]),
        ([(0, "shop::Till::quo~"), (8, "shop::Till::sell")], ["price", "sold"]),
        ([(0, f"{TILL}(i~"), (8, "shop::Till::sell")], ["price", "sold"]),
        ([(0, "shop::Till::add"), (8, "shop::T~")], ["0x0", "0x8"]),
        ([(0, LAMBDA), (8, LAMBDA)], ["0x0", "0x8"]),
        ([(48, "shop::Stock::count(shop::Till*)"), (56, "shop::Stock::count(shop::Till*)")], ["pieces", "sold"]),
        ([(48, "shop::Stock::count(sh~"), (56, "shop::Stock::count(sh~")], ["0x30", "0x38"]),
        ([(8, "_ZN4shop4Till4sellEv"), (16, "shop::Till::sell()")], ["sold", "open"]),
    ],
    ids=["methods", "parameters", "template", "result", "cut", "cut in its parameters", "several are called so",
         "code within", "around code", "cut before code within", "symbol"],
)  # fmt: skip
def test_functions_are_known_as_people_write_them(
    rows: Sequence[tuple[int, str]], members: Sequence[str], built: Built
) -> None:
    (finding,) = found(built, rows).findings
    assert [member.path for member in finding.members] == members


def test_a_function_keeps_the_name_that_the_report_has(built: Built) -> None:
    rows = [(0, f"{TILL}(int)"), (8, "shop::Till::sell()")]
    explained = found(built, rows)
    (finding,) = explained.findings
    assert [one.name for member in finding.members for one in member.functions] == [name for _, name in rows]
    assert [access.function for access in explained.profile.lines[0].accesses] == [name for _, name in rows]


@pytest.mark.parametrize(
    ("before", "after", "alike"),
    [("quote(int)", "quote", True), ("quote", "quote(int)", True), ("add(int)", "add(long)", False)],
    ids=["bare after", "bare before", "other parameters"],
)
def test_reports_that_write_a_name_otherwise_are_compared_by_it(
    before: str, after: str, alike: bool, built: Built
) -> None:
    old, new = (found(built, [(0, f"shop::Till::{name}"), (8, "shop::Till::sell")]) for name in (before, after))
    change = compare(ProfileFindings(old.profile, old.findings), ProfileFindings(new.profile, new.findings))
    rows = (*(row for one in change.objects for row in one.members), *change.functions)
    names = {name for row in rows for name in (*row.functions, *row.gone, *row.come)}
    assert f"shop::Till::{before}" in names
    assert (f"shop::Till::{after}" not in names) is alike
