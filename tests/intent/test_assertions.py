# SPDX-License-Identifier: GPL-2.0-or-later
"""Groups that C code asserts, as intents."""

from __future__ import annotations

from pathlib import Path

import pytest

from linesmith.analyzer.intent.assertions import asserted_in, asserted_intents, assertions
from linesmith.analyzer.model import MemberGroup, TypeIntent

CODE = Path(__file__).with_name("sources").joinpath("asserted.c").read_bytes()


def test_members_and_sizes_of_groups_are_found_with_their_lines() -> None:
    found = tuple(assertions(CODE, "net/pipe.c"))
    assert [(one.place, one.group, one.member, one.bytes) for one in found] == [
        ("net/pipe.c:6", "rx", "head", None),
        ("net/pipe.c:7", "rx", "inner.tail", None),
        ("net/pipe.c:9", "rx", "", 95),
        ("net/pipe.c:10", "tx", "ops", None),
        ("net/pipe.c:12", "empty", "", 1),
    ]


def test_each_record_gets_one_intent() -> None:
    assert asserted_intents(assertions(CODE, "net/pipe.c")) == (
        TypeIntent(
            "pipe",
            "asserted by CACHELINE_ASSERT_GROUP_MEMBER() from net/pipe.c:6 on",
            groups=(MemberGroup("rx", ("head", "inner.tail"), bytes=95), MemberGroup("tx", ("ops",))),
        ),
    )


@pytest.mark.parametrize(
    ("opening", "symbols"),
    [
        ("#ifdef CONFIG_XPS", ("CONFIG_XPS",)),
        ("#ifndef CONFIG_XPS", ("!CONFIG_XPS",)),
        ("# if IS_ENABLED(CONFIG_XPS)", ("CONFIG_XPS",)),
        ("#if !defined CONFIG_XPS /* not here */", ("!CONFIG_XPS",)),
        ("#ifdef CONFIG_XPS\n#else", ("!CONFIG_XPS",)),
        ("#ifdef CONFIG_XPS\n#ifndef CONFIG_RT", ("CONFIG_XPS", "!CONFIG_RT")),
        ("#ifdef CONFIG_XPS\n#endif", ()),
        ("#ifndef _NET_PIPE_H", ()),
        ("#if defined(CONFIG_XPS) || defined(CONFIG_RT)", ()),
        ("#ifdef CONFIG_XPS\n#elif defined(CONFIG_RT)", ("!CONFIG_XPS", "CONFIG_RT")),
        ("#if CONFIG_XPS > 1", ()),
        ("#if defined(CONFIG_XPS) && \\\n\t!defined(CONFIG_RT)", ("CONFIG_XPS", "!CONFIG_RT")),
        ("#if defined(CONFIG_XPS) || defined(CONFIG_RT)\n#else", ("!CONFIG_XPS", "!CONFIG_RT")),
        ("#if 1", ()),
        ("#if 0\n#elif 1", ()),
        ("#endif\n#else", ()),
    ],
)
def test_an_assertion_is_for_the_configuration_that_it_is_compiled_in(opening: str, symbols: tuple[str, ...]) -> None:
    code = f"{opening}\nCACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);\n#endif\n"
    (found,) = assertions(code.encode(), "net/pipe.c")
    assert found.configuration == symbols


@pytest.mark.parametrize(
    ("opening", "symbols"),
    [
        ("#if 0", None),
        ("#if 0 && defined(CONFIG_XPS)", None),
        ("#if 1\n#else", None),
        ("#if 1\n#elif defined(CONFIG_XPS)", None),
        ("#if 0\n#ifdef CONFIG_XPS", None),
        ("#ifdef CONFIG_XPS\n#ifndef CONFIG_XPS", None),
        # Where CONFIG_XPS is known to be the only symbol that is set:
        ("#if defined(CONFIG_XPS) || defined(CONFIG_RT) // known", ()),
        ("#if defined(CONFIG_RT) || IS_ENABLED(CONFIG_RPS) // known", None),
        ("#if defined(CONFIG_RT) && (defined(CONFIG_RT) || defined(CONFIG_RPS)) // known", None),
        ("#ifdef CONFIG_RT // known", ("CONFIG_RT",)),
    ],
)
def test_what_is_never_compiled_asserts_nothing(opening: str, symbols: tuple[str, ...] | None) -> None:
    ends = "#endif\n" * (opening.count("#if"))
    code = f"{opening}\nCACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);\n{ends}".encode()
    known = {"CONFIG_XPS"} if "known" in opening else None
    found = [one.configuration for one in (assertions(code, "a.c", known) if known else assertions(code, "a.c"))]
    assert found == ([] if symbols is None else [symbols])


def test_each_of_many_arms_is_judged_once() -> None:
    condition = " && ".join(f"!defined(CONFIG_{number})" for number in range(40))
    code = "#if 0\n" * 30 + f"#elif {condition}\n" * 1_000
    assert not list(assertions(f"{code}CACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, head);\n".encode(), "a.c"))


def test_each_configuration_has_an_entry_of_its_own() -> None:
    code = CODE + b"#ifdef CONFIG_XPS\nCACHELINE_ASSERT_GROUP_MEMBER(struct pipe, rx, maps);\n#endif\n"
    always, with_maps = asserted_intents(assertions(code, "net/pipe.c"))
    assert (always.configuration, with_maps.configuration) == ((), ("CONFIG_XPS",))
    assert with_maps.groups == (MemberGroup("rx", ("maps",)),)


def test_only_c_files_of_the_tree_itself_are_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.c"
    outside.write_bytes(CODE)
    tree = tmp_path / "tree"
    (tree / "net").mkdir(parents=True)
    (tree / "net" / "pipe.h").write_bytes(CODE)
    (tree / "net" / "pipe.txt").write_bytes(CODE)
    (tree / "linked.c").symlink_to(outside)
    assert {one.place.partition(":")[0] for one in asserted_in(tree)} == {"net/pipe.h"}
