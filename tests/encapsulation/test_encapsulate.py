# SPDX-License-Identifier: GPL-2.0-or-later
"""A member behind an accessor: what is replaced, what is left and told, and that the tree stays as it is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from encapsulation.programs import after, hidden, left, needs_spatch, program

from linesmith.analyzer.errors import DeclarationNotFound, EditRefused
from linesmith.patches.encapsulation.form import Form

pytestmark = needs_spatch

HEADER = """\
struct wheel {
	int turns;
	struct hub { int size; } hub;
	char name[8];
};

struct car {
	struct wheel *front;
	struct wheel spare;
	int turns;
};
"""


def test_the_address_of_a_record_and_its_parts(tmp_path: Path) -> None:
    source = """\
#include "car.h"
void f(struct wheel *w, struct car *c)
{
	use(&w->hub);
	w->hub.size = 3;
	c->front->hub.size++;
	use(&c->spare.hub);
	copy(w->hub);
}
"""
    made = hidden(program(tmp_path, car_h=HEADER.replace("struct hub { int size; } hub", "struct hub hub"), f_c=source),
                  "wheel", "hub", "wheel_hub")  # fmt: skip
    assert made.accessor.form is Form.ADDRESS
    assert after(made, "f.c").splitlines()[3:8] == [
        "	use(wheel_hub(w));",
        "	wheel_hub(w)->size = 3;",
        "	wheel_hub(c->front)->size++;",
        "	use(wheel_hub(&c->spare));",
        "	copy(*wheel_hub(w));",
    ]
    assert left(made) == []


def test_the_definition_follows_the_record(tmp_path: Path) -> None:
    made = hidden(program(tmp_path, car_h=HEADER, f_c=_USER), "wheel", "turns", "wheel_turns")
    assert after(made, "car.h") == HEADER.replace(
        "};\n\nstruct car",
        """\
};

/* Users go through this, so that what is behind turns can change. */
static inline int wheel_turns(const struct wheel *w)
{
	return w->turns;
}

struct car""",
    )


def test_a_comment_below_the_closing_brace_that_belongs_to_it_stays_with_the_record(tmp_path: Path) -> None:
    closing = "};\n\t/*\n\t * Aligned for the sake of one\n\t * architecture.\n\t */\n\nstruct car"
    header = HEADER.replace("};\n\nstruct car", closing)
    made = hidden(program(tmp_path, car_h=header, f_c=_USER), "wheel", "turns", "wheel_turns")
    assert closing.removesuffix("struct car") + "/* Users go through this" in after(made, "car.h")


@pytest.mark.parametrize(
    ("declaration", "signature"),
    [
        ("int before, turns;", "int wheel_turns("),
        ("int *before, turns;", "int wheel_turns("),
        ("unsigned long before[2], *turns, **after;", "unsigned long *wheel_turns("),
        ("int *turns, before;", "int *wheel_turns("),
        ("const char *before, turns[8];", "const char *wheel_turns("),
    ],
)
def test_the_type_of_one_of_several_members(tmp_path: Path, declaration: str, signature: str) -> None:
    tree = program(tmp_path, car_h=HEADER.replace("int turns;", declaration, 1), f_c=_USER)
    assert f"static inline {signature}" in after(hidden(tree, "wheel", "turns", "wheel_turns"), "car.h")


_USER = """\
#include "car.h"
int f(struct wheel *w, struct car *c)
{
	return w->turns + c->turns + c->front->turns;
}
"""


def test_what_follows_the_record_at_once_is_parted_from_the_definition(tmp_path: Path) -> None:
    header = "struct wheel { int turns; };\n/* more */\n"
    tree = program(tmp_path, car_h=header, f_c=_USER.replace(" + c->turns + c->front->turns", ""))
    made = hidden(tree, "wheel", "turns", "wheel_turns")
    assert after(made, "car.h").endswith("\treturn w->turns;\n}\n\n/* more */\n")


def test_members_of_other_records_with_the_same_name_stay(tmp_path: Path) -> None:
    made = hidden(program(tmp_path, car_h=HEADER, f_c=_USER), "wheel", "turns", "wheel_turns")
    assert "return wheel_turns(w) + c->turns + wheel_turns(c->front);" in after(made, "f.c")
    assert left(made) == []


def test_what_a_value_cannot_serve_is_told(tmp_path: Path) -> None:
    source = """\
#include "car.h"
struct wheel one = { .turns = 1 };
#define TURNS(w) ((w)->turns)
int f(struct wheel *w)
{
	w->turns = 0;
	w->turns += w->turns;
	READ_ONCE(w->turns);
	return w->turns + __builtin_offsetof(struct wheel, turns) + unknown()->turns;
}
"""
    made = hidden(program(tmp_path, car_h=HEADER, f_c=source), "wheel", "turns", "wheel_turns")
    assert left(made) == [
        ("initialiser", "f.c:2"),
        ("in-macro", "f.c:3"),
        ("whole-assignment", "f.c:6"),
        ("needs-object", "f.c:7"),
        ("needs-object", "f.c:8"),
        ("offset", "f.c:9"),
        ("type-unknown", "f.c:9"),
    ]
    assert "w->turns += wheel_turns(w);" in after(made, "f.c")


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("(w->turns) = 3", "whole-assignment"),
        ("((c->front->turns)) = 3", "whole-assignment"),
        ("(w->turns) |= 3", "needs-object"),
        ("(w->turns)++", "needs-object"),
        ("--(c->spare.turns)", "needs-object"),
        ("use(&(w->turns))", "needs-object"),
        ("READ_ONCE((w->turns))", "needs-object"),
    ],
)
def test_parentheses_hide_no_assignment(tmp_path: Path, use: str, code: str) -> None:
    source = f"""\
#include "car.h"
int f(struct wheel *w, struct car *c)
{{
	{use};
	return w->turns + 2 * w->turns;
}}
"""
    made = hidden(program(tmp_path, car_h=HEADER, f_c=source), "wheel", "turns", "wheel_turns")
    assert left(made) == [(code, "f.c:4")]
    assert f"\t{use};\n\treturn wheel_turns(w) + 2 * wheel_turns(w);" in after(made, "f.c")


def test_a_name_that_no_other_record_has_needs_no_type(tmp_path: Path) -> None:
    header = "struct wheel { int spokes; };\n"
    source = """\
#include "car.h"
int f(void)
{
	unknown()->inner.spokes = 3;
	READ_ONCE(unknown()->spokes);
	return unknown()->spokes + unknown()->inner.spokes;
}
"""
    made = hidden(program(tmp_path, car_h=header, f_c=source), "wheel", "spokes", "wheel_spokes")
    assert "return wheel_spokes(unknown()) + wheel_spokes(&unknown()->inner);" in after(made, "f.c")
    assert left(made) == [("whole-assignment", "f.c:4"), ("needs-object", "f.c:5")]


def test_a_record_from_outside_of_the_tree_may_have_a_member_of_the_name(tmp_path: Path) -> None:
    header = "struct wheel { int revents; };\n"
    source = """\
#include <poll.h>
#include "car.h"
int f(struct pollfd *p, struct wheel *w)
{
	return p->revents + w->revents + unknown()->revents;
}
"""
    made = hidden(program(tmp_path, car_h=header, f_c=source), "wheel", "revents", "wheel_revents")
    assert "return p->revents + wheel_revents(w) + unknown()->revents;" in after(made, "f.c")
    assert left(made) == [("type-unknown", "f.c:5")]


def test_the_tag_besides_a_typedef_is_no_other_record(tmp_path: Path) -> None:
    header = "typedef struct wheel { int spokes; } wheel_t;\n"
    source = '#include "car.h"\nint f(struct wheel *w) { return w->spokes; }\nint g(wheel_t *w) { return w->spokes; }\n'
    made = hidden(program(tmp_path, car_h=header, f_c=source), "wheel_t", "spokes", "wheel_spokes")
    assert after(made, "f.c").count("return wheel_spokes(w);") == 2


def test_every_arm_of_a_conditional_is_changed(tmp_path: Path) -> None:
    source = """\
#include "car.h"
#ifdef A
int f(struct wheel *w) { return w->turns; }
#else
int g(struct wheel *w) { return w->turns; }
#endif
"""
    made = hidden(program(tmp_path, car_h=HEADER, f_c=source), "wheel", "turns", "wheel_turns")
    assert after(made, "f.c") == source.replace("w->turns", "wheel_turns(w)")


def test_elements_of_an_array_and_what_needs_its_size(tmp_path: Path) -> None:
    source = """\
#include "car.h"
int f(struct wheel *w)
{
	w->name[0] = 'x';
	return fill(w->name, sizeof(w->name));
}
"""
    made = hidden(program(tmp_path, car_h=HEADER, f_c=source), "wheel", "name", "wheel_name")
    assert "static inline char *wheel_name(struct wheel *w)" in after(made, "car.h")
    assert "	wheel_name(w)[0] = 'x';\n	return fill(wheel_name(w), sizeof(w->name));" in after(made, "f.c")
    assert left(made) == [("needs-object", "f.c:5")]


def test_an_array_is_not_handed_to_what_may_ask_for_its_size(tmp_path: Path) -> None:
    header = f"""\
#define COUNT(x) (sizeof(x) / sizeof((x)[0]))
#define clear(x) fill(x, sizeof(x))
#define for_each(i, x) for (i = 0; i < (int)COUNT(x); i++)
{HEADER}"""
    source = """\
#include "car.h"
int f(struct wheel *w)
{
	int i = COUNT(w->name) + COUNT((w->name));
	clear(w->name);
	i += sizeof((w->name)) + sizeof w->name;
	typeof(w->name) copy;
	for_each(i, w->name)
		i += COUNT(copy);
	return fill(w->name, i) + sizeof(w->name[0]) + COUNT(use(w->name));
}
"""
    made = hidden(program(tmp_path, car_h=header, f_c=source), "wheel", "name", "wheel_name")
    assert [int(place.partition(":")[2]) for _, place in left(made)] == [4, 4, 5, 6, 6, 7, 8]
    assert {code for code, _ in left(made)} == {"needs-object"}
    line = "	return fill(wheel_name(w), i) + sizeof(wheel_name(w)[0]) + COUNT(use(wheel_name(w)));"
    assert after(made, "f.c").splitlines() == [*source.splitlines()[:9], line, "}"]


def test_a_constant_record_makes_the_accessor_a_macro(tmp_path: Path) -> None:
    source = '#include "car.h"\nconst struct hub *f(const struct wheel *w)\n{\n	return &w->hub;\n}\n'
    made = hidden(program(tmp_path, car_h=HEADER, f_c=source), "wheel", "hub", "wheel_hub")
    assert "#define wheel_hub(w) (&(w)->hub)\n" in after(made, "car.h")


def test_a_function_that_others_spell_out_is_called_first(tmp_path: Path) -> None:
    header = """\
struct tree { int count; int root; };

static inline int tree_has_some(struct tree *t)
{
	return !list_empty(&t->root);
}
"""
    source = """\
#include "tree.h"
int f(struct tree *t)
{
	if (list_empty(&t->root))
		return 1;
	return !list_empty(&t->root) && use(&t->root);
}
"""
    made = hidden(program(tmp_path, tree_h=header, f_c=source), "tree", "root", "tree_root")
    assert [step.message.partition("\n")[0] for step in made.series.steps] == [
        "tree: use tree_has_some()",
        "tree: access root through tree_root()",
    ]
    assert after(made, "f.c").splitlines()[3:6] == [
        "	if (!tree_has_some(t))",
        "		return 1;",
        "	return tree_has_some(t) && use(tree_root(t));",
    ]
    assert "return !list_empty(tree_root(t));" in after(made, "tree.h")


@pytest.mark.parametrize(
    "function",
    [
        "bool wheel_loose(const struct wheel *w) { return w->turns & LOOSE; }",
        "int wheel_loose(const struct wheel *w) { return w->turns - 3; }",
        "long wheel_loose(const struct wheel *w) { return w->turns > 3; }",
    ],
)
def test_a_function_that_returns_no_truth_value_is_not_called(tmp_path: Path, function: str) -> None:
    expression = function.partition("return ")[2].partition(";")[0]
    source = f'#include "car.h"\nlong f(struct wheel *w)\n{{\n\treturn 8 | ({expression});\n}}\n'
    tree = program(tmp_path, car_h=f"{HEADER}static inline {function}\n", f_c=source)
    made = hidden(tree, "wheel", "turns", "wheel_turns")
    assert f"return 8 | ({expression.replace('w->turns', 'wheel_turns(w)')});" in after(made, "f.c")


def test_what_a_negation_negates_is_replaced_only_where_it_is_a_truth_value(tmp_path: Path) -> None:
    header = HEADER + "static inline int wheel_still(const struct wheel *w) { return !count(w->turns); }\n"
    source = """\
#include "car.h"
int f(struct wheel *w)
{
	return count(w->turns) + !count(w->turns);
}
"""
    made = hidden(program(tmp_path, car_h=header, f_c=source), "wheel", "turns", "wheel_turns")
    assert "return count(wheel_turns(w)) + wheel_still(w);" in after(made, "f.c")


def test_the_tree_stays_as_it_is_and_the_result_compiles(tmp_path: Path) -> None:
    tree = program(tmp_path / "tree", car_h=HEADER, f_c=_USER)
    made = hidden(tree, "wheel", "turns", "wheel_turns")
    assert (tree / "car.h").read_text() == HEADER
    assert (tree / "f.c").read_text() == _USER
    result = program(tmp_path / "result", car_h=after(made, "car.h"), f_c=after(made, "f.c"))
    subprocess.run(["gcc", "-Wall", "-Werror", "-c", "f.c"], cwd=result, check=True)


def test_the_semantic_patch_alone_gives_the_same_files(tmp_path: Path) -> None:
    tree = program(tmp_path / "tree", car_h=HEADER, f_c=_USER)
    made = hidden(tree, "wheel", "turns", "wheel_turns")
    rules = tmp_path / "rules.cocci"
    rules.write_text(made.rules)
    options = ("--in-place", "--recursive-includes", "--include-headers-for-types", "--disable-worth-trying-opt")
    subprocess.run(["spatch", "--sp-file", rules, "--very-quiet", *options, "f.c"], cwd=tree, check=True)
    assert (tree / "f.c").read_text() == after(made, "f.c")


@pytest.mark.parametrize("name", ["position", "P", "f"])
def test_members_may_be_called_like_words_of_semantic_patches(tmp_path: Path, name: str) -> None:
    header = HEADER.replace("turns", name)
    made = hidden(program(tmp_path, car_h=header, f_c=_USER.replace("turns", name)), "wheel", name, "accessor")
    assert f"return accessor(w) + c->{name} + accessor(c->front);" in after(made, "f.c")


def test_a_copy_of_the_record_in_another_program_is_told(tmp_path: Path) -> None:
    tree = program(tmp_path, car_h=HEADER, f_c=_USER)
    (tree / "tools").mkdir()
    (tree / "tools" / "copy.h").write_text("struct wheel {\n	int turns;\n};\n")
    assert left(hidden(tree, "wheel", "turns", "wheel_turns")) == [("other-program", "tools/copy.h:2")]


def test_a_unit_of_the_tests_may_declare_a_record_of_the_same_name(tmp_path: Path) -> None:
    tree = program(tmp_path, car_h=HEADER, f_c=_USER)
    (tree / "tests").mkdir()
    (tree / "tests" / "fake.c").write_text("struct wheel { int turns; };\nint t(struct wheel *w) { return w->turns; }")
    made = hidden(tree, "wheel", "turns", "wheel_turns")
    assert left(made) == [("other-program", "tests/fake.c:1")]
    assert [one.file for one in made.series.steps[0].changes] == ["car.h", "f.c"]


def test_a_typedef_is_another_name_of_the_record(tmp_path: Path) -> None:
    header = "MY_BEGIN\ntypedef struct _wheel wheel_t;\nint spin(const wheel_t *w);\n"
    source = """\
#include "car.h"
struct _wheel {
	int turns;
};
struct other { int turns; } o;
int spin(const wheel_t *w)
{
	return w->turns + o.turns;
}
"""
    made = hidden(program(tmp_path, car_h=header, f_c=source), "_wheel", "turns", "wheel_turns")
    assert "return wheel_turns(w) + o.turns;" in after(made, "f.c")


def test_names_that_are_not_there_or_taken(tmp_path: Path) -> None:
    tree = program(tmp_path, car_h=HEADER, f_c=_USER)
    with pytest.raises(DeclarationNotFound, match="declares no record wheel with a member spokes"):
        hidden(tree, "wheel", "spokes", "wheel_spokes")
    with pytest.raises(EditRefused, match=r"f\.c:2: f is a name already; give another with --accessor"):
        hidden(tree, "wheel", "turns", "f")


def test_records_of_user_space_stay(tmp_path: Path) -> None:
    (tmp_path / "include" / "uapi").mkdir(parents=True)
    (tmp_path / "include" / "uapi" / "car.h").write_text(HEADER)
    with pytest.raises(EditRefused, match="wheel is shared with user space, which has no accessors"):
        hidden(tmp_path, "wheel", "turns", "wheel_turns")
