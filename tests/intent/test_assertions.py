# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups that C code asserts, as intents, and in which configurations they and other intents hold."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linesmith.analyzer.intent.assertions import asserted_in, asserted_intents
from linesmith.analyzer.intent.check import applies, symbols_in, undecided
from linesmith.analyzer.model import Intent, MemberGroup, TypeIntent

SOURCES = Path(__file__).with_name("sources")
CODE = (SOURCES / "asserted.c").read_text()
HEAD = "CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);"


def told(folder: Path, code: str, configuration: Collection[str] | None = None) -> list[str]:
    """Each assertion of a file: its line, group, member or bytes, and in which configuration."""
    (folder / "pipe.c").write_text(code)
    return [
        " ".join((one.place.partition(":")[2], one.group, one.member or f"{one.bytes} bytes", *one.configuration))
        for one in asserted_in(folder, configuration)
    ]


def test_members_and_sizes_of_groups_are_found_with_their_lines_and_each_record_gets_one_intent(tmp_path: Path) -> None:
    found = told(tmp_path, CODE)
    assert found == ["6 rx head", "7 rx inner.tail", "9 rx 95 bytes", "10 tx ops", "12 empty 1 bytes"]
    reason = "asserted by CACHELINE_ASSERT_GROUP_MEMBER() from pipe.c:6 on"
    groups = MemberGroup("rx", ("head", "inner.tail"), bytes=95), MemberGroup("tx", ("ops",))
    always = TypeIntent("pipe", reason, groups=groups)
    assert asserted_intents(asserted_in(tmp_path)) == (always,)
    told(tmp_path, f"{CODE}#ifdef CONFIG_XPS\n{HEAD.replace('head', 'maps')}\n#endif\n")
    both = asserted_intents(asserted_in(tmp_path))
    assert both[0] == always
    assert (both[1].configuration, both[1].groups) == (("CONFIG_XPS",), (MemberGroup("rx", ("maps",)),))


OPENINGS = [one.rpartition("\n-> ")[::2] for one in (SOURCES / "conditions.txt").read_text().split("\n\n")[1:]]


@pytest.mark.parametrize(("opening", "symbols"), OPENINGS, ids=[one.replace("\n", " ") for one, _ in OPENINGS])
def test_an_assertion_is_for_the_configuration_that_it_is_compiled_in(
    tmp_path: Path, opening: str, symbols: str
) -> None:
    found = told(tmp_path, f"{opening}\n{HEAD}\n", {"CONFIG_XPS"} if "known" in opening else None)
    expected = {"never": [], "always": [""]}.get(symbols.strip(), [symbols.strip()])
    assert [one.partition("head")[2].strip() for one in found] == expected


NAMES = ("CONFIG_A", "CONFIG_B", "CONFIG_C")
LEAVES = st.sampled_from((*(f"defined({name})" for name in NAMES), "defined CONFIG_A", "0", "1", "2UL"))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda one: f"!({one})"),
        st.tuples(inner, st.sampled_from(("&&", "||")), inner).map(lambda parts: f"({' '.join(parts)})"),
        st.tuples(inner, st.sampled_from(("&&", "||")), inner).map(" ".join),
    ),
    max_leaves=8,
)


def both_arms(conditions: list[str]) -> str:
    """Code that asserts one member where a condition holds, and another where it does not."""
    arms = [(one, HEAD.replace("head", f"yes{n}"), HEAD.replace("head", f"no{n}")) for n, one in enumerate(conditions)]
    return "".join(f"#if {one}\n{yes}\n#else\n{no}\n#endif\n" for one, yes, no in arms)


@settings(max_examples=15)
@given(st.lists(EXPRESSIONS, min_size=1, max_size=40), st.sets(st.sampled_from(NAMES)))
def test_what_is_asserted_in_a_configuration_is_what_the_preprocessor_leaves(
    tmp_path_factory: pytest.TempPathFactory, conditions: list[str], defined: set[str]
) -> None:
    found = told(tmp_path_factory.mktemp("code"), both_arms(conditions), defined)
    # Conditions of plain symbols are told and not decided: the configuration is one in which they may all hold.
    held = [one for one in found if all((name[0] != "!") == (name.lstrip("!") in defined) for name in one.split()[3:])]
    argv = ["gcc", "-E", "-P", *(f"-D{name}" for name in defined), "-x", "c", "-"]
    done = subprocess.run(argv, input=both_arms(conditions), capture_output=True, text=True, check=True)
    assert [one.split()[2] for one in held] == re.findall(r"\b(?:yes|no)\d+", done.stdout)


@pytest.mark.parametrize(
    "text",
    [
        *("", "(", ")", "1+", "CONFIG_A==2", "defined(", "defined(CONFIG_A", "!", "f(CONFIG_A)", "&&", "0x0", "a ? b"),
        # What nobody writes.
        *(" && ".join(["CONFIG_A"] * 1000), "!" * 200 + "CONFIG_A", "(" * 200 + "CONFIG_A" + ")" * 200),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_plain_condition_is_not_known(tmp_path: Path, text: str) -> None:
    assert told(tmp_path, both_arms([text]), {"CONFIG_A"}) == ["2 rx yes0", "4 rx no0"]


def test_each_of_many_arms_is_judged_once(tmp_path: Path) -> None:
    condition = " && ".join(f"!defined(CONFIG_{number})" for number in range(40))
    assert told(tmp_path, "#if 0\n" * 30 + f"#elif {condition}\n" * 1_000 + HEAD) == []


def test_only_c_files_of_the_tree_itself_are_read(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "net").mkdir(parents=True)
    for name in ("net/pipe.h", "net/pipe.txt", "../outside.c"):
        (tree / name).write_text(CODE)
    (tree / "linked.c").symlink_to(tmp_path / "outside.c")
    assert {one.place.partition(":")[0] for one in asserted_in(tree)} == {"net/pipe.h"}


def wanted(*conditions: str) -> TypeIntent:
    return TypeIntent("inode", "path walk", configuration=conditions, place="linesmith.toml:3")


@pytest.mark.parametrize(
    ("conditions", "held"),
    [
        ((), True),
        (("CONFIG_SMP",), True),
        (("!CONFIG_SMP",), False),
        (("CONFIG_SMP", "CONFIG_NUMA"), False),
        (("CONFIG_SMP", "!CONFIG_NUMA"), True),
        (("CONFIG_MODULE", "CONFIG_EMPTY", "CONFIG_HEX"), True),
        (("!CONFIG_NO", "!CONFIG_OFF"), True),
    ],
)
def test_an_intent_holds_where_all_its_conditions_do(conditions: tuple[str, ...], held: bool) -> None:
    text = '# CONFIG_OFF is not set\nCONFIG_SMP=y\nCONFIG_MODULE=m\nCONFIG_EMPTY=""\nCONFIG_NO=n\nCONFIG_HEX=0x1000\n'
    assert applies(symbols_in(text))(wanted(*conditions)) is held


def test_without_a_configuration_only_what_always_holds_does_and_the_rest_is_told() -> None:
    intent = Intent("linesmith.toml", (wanted(), wanted("CONFIG_SMP", "!CONFIG_NUMA")))
    assert [applies(None)(one) for one in intent.types] == [True, False]
    (said,) = undecided(intent, None)
    assert said == (
        "linesmith.toml:3: the entry of inode for CONFIG_SMP is set and CONFIG_NUMA is not set was not checked,"
        " because the configuration of the build is not known; give --kconfig"
    )
    assert undecided(intent, frozenset()) == ()
