# SPDX-License-Identifier: GPL-2.0-or-later
"""Texts that stall a reader which looks at the same bytes again and again, in any length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """A text that repeats ``unit`` between ``head`` and ``tail``."""

    unit: str
    head: str = ""
    tail: str = ""

    def text(self, size: int) -> bytes:
        """The text with about ``size`` bytes."""
        unit = self.unit.encode()
        return self.head.encode() + unit * max(1, size // len(unit)) + self.tail.encode()


@dataclass(frozen=True)
class Numbered(Shape):
    """The same with a running number for each ``%`` of ``unit``, so that no two names are the same."""

    def text(self, size: int) -> bytes:
        """The text with about ``size`` bytes."""
        count = max(1, size // (len(self.unit) + 4))
        middle = "".join(self.unit.replace("%", str(number)) for number in range(count))
        return f"{self.head}{middle}{self.tail}".encode()


def _body(unit: str) -> Shape:
    """A record ``queue`` that has the repeated text between its braces."""
    return Shape(unit, "struct queue {\n", "\n};\n")


def _behind(head: str, unit: str, tail: str = "") -> Shape:
    return Shape(unit, head, tail)


_OPENERS = (
    "struct queue ", "struct queue {", "struct queue a[", "struct queue a[\n", "struct queue a[1]", "struct queue (",
    "struct queue x __a(", "struct queue *", "struct queue *q, ", "struct queue\n", "struct queue __aligned(8) ",
    "struct __attribute__((packed)) ", "struct __a ", "struct __a(", "struct __a() queue ", "struct {", "struct a{\n",
    "struct a{}", "struct a{};", "struct a{int b;};\n", "union ", "union queue {", "enum ", "enum queue {",
    "enum {A, ",
    "enum a{A};", "enum a{B\n", "typedef ", "typedef struct ", "typedef struct {", "typedef struct queue queue_t; ",
    "typedef struct { int a; } queue_t;\n", "typedef int (", "typedef void (*queue_t)(", "} queue ", "} queue_t ",
    "}; ", "} __a ", "} __a(", "}", "{", "{}", "{{}", "{}}", "(", "()", "(()", "[", "[]", "([{", ")",
    "((((((((((queue",
    "{ struct queue ", "queue ", "queue {", "queue(", "queue_t ", "queue_t q = {", "_", "__", "__a ", "__a\n", "__a(",
    "a", "0", "*", ",", ";", ":", "=", "\\", "\\\n", "\n", "\r\n", " ", "\t", " \n", "\f", "a ", "a\n", "a,", "a;",
    "a:",
    "static ", "const ", "extern struct queue q; ", "__attribute__((", "__attribute__((aligned(8))) ", "_Atomic(",
    "_Atomic(int) ", "unsigned ", "long a; ", "int ",
)  # fmt: skip
_INITIALISERS = (
    "(struct queue){1,2},", "(struct queue){", "(struct queue[]){{1},", "struct queue q = {1,", "struct queue q = { ",
    "struct queue q = {1};\n", "struct queue q[] = {{1},", "struct queue q[] = {{1}};\n", "struct queue q[1][1]",
    "struct queue q __a(1) = {", "struct queue q = {.a = 1, ", "struct queue q = {[0] = ", "(struct queue *)",
    "(const struct queue) { ", "{1,", "{.a = 1},", "[0] = {",
)  # fmt: skip
_CALLS = (
    "offsetof(struct queue, ", "offsetof(struct queue, a)", "offsetof(struct queue, a) - offsetof(struct queue, b)\n",
    "offsetofend(", "sizeof(struct queue)", "sizeof(", "BUILD_BUG_ON(", "BUILD_BUG_ON(sizeof(struct queue) != 8);\n",
    "static_assert(offsetof(struct queue, a) == ", "_Static_assert(", "memset(&q, 0, offsetof(struct queue, a));",
    "memcpy(struct queue, ", "container_of(p, struct queue, ", "container_of(", "OFFSET(A, struct queue, a);\n",
    "OFFSET(",
    "q->a", "q->", "struct queue *q; q->a; ", "struct queue *q, vmlinux.h", '"vmlinux.h" struct queue *q ',
    "CACHELINE_ASSERT_GROUP_MEMBER(struct queue, g, ", "CACHELINE_ASSERT_GROUP_MEMBER(struct queue, g, a);\n",
    "CACHELINE_ASSERT_GROUP_SIZE(struct queue, g, 1+", "typeof(", "container_of(p, struct queue, a)->",
)  # fmt: skip
_DIRECTIVES = (
    "#", "#\n", "# ", "#if 1\n", "#if A && \\\n", "#if (", "#if !", "#if defined(A) ||", "#ifdef A\n", "#ifndef A\n",
    "#if 1\n#endif\n", "#else\n", "#elif 1\n", "#endif\n", "#ifdef A\n#else\n", "#if 1\n#elif 2\n#endif\n",
    "#define ",
    "#define A ", "#define A\n", "#define A(", "#define A \\\n", "#define A struct queue {\n", "#define a queue->b\n",
    "#define PADDING(", "#define CACHE_PADDING(name) struct a name;\n", "#define _PADDING(a)   struct b ",
    "#undef A\n",
    "#pragma pack(", "#pragma pack(1)\n", "#pragma ", "#pragma A\n", "#include ", '#include "', "#include <",
    '#include "a.h"', '#include "a.h"\n', '#include "a\\\n', "#include_next <", "#include A\n", "# include\n",
    "#line 1\n",
    "#error don't\n", " #\t", "??/\n", "??=define ", "??<", "%:define ",
)  # fmt: skip
_COMMENTS = (
    "/*", "/* ", "*/", "/**/", "/* */", "/* a\n", "//", "// \\\n", "//\n", "/", "/* * /", "/*\n * ", '"', "'", '""',
    "''",
    '"\'', '"\\"', '\\"', "'\\'", '"\\\n', '"\n', "'\n", "'a", '"\\"\'', '"\\"/', '"a" ', "'a' ", "\"'\n", "L'",
    'R"(',
    "/* queue */ struct ", "/**\n * struct queue - a\n", " * @a: b\n", "/** @a: */\n", " * @a, ", "@a.b", "@",
    "* @a:",
)  # fmt: skip
_MEMBERS = (
    "int a;\n", "int a;", "int a; /* b */\n", "/* b */\nint a;\n", "/* b */\n\n", "/* b\n", "int a, b, ", "int a[",
    "int a[1",
    "int a[1]", "int *", "int (*a)(", "int (*a)(void);\n", "int (__a *b)(", "int a:1;\n", "int :1;\n", "int : ",
    "int :1,",
    "struct { int a; };\n", "struct {\n", "struct b { int a; } c;\n", "union { int a; };\n", "union {\n",
    "struct b;\n",
    "struct queue;\n", "struct queue q;\n", "#if A\nint a;\n#endif\n", "#if A\n", "#if A\nint a;\n#else\n", "#else\n",
    "#define A 1\n", "MACRO\n", "MACRO_A(b)\n", "MACRO_A(b);\n", "MACRO_A(", "DECLARE_BITMAP(a, 1);\n",
    "DECLARE_BITMAP(",
    "struct_group(a, ", "struct_group(a, int b;);\n", "struct_group(a,,,,", "int a __aligned(8);\n", "int a __b ",
    "int a ",
    "int __b a;\n", "__attribute__((a)) ", "__attribute__((", "_Atomic(int) a;\n", "_Atomic(", "struct b c __d;\n",
    "struct b c __d ", "struct b ", "__cacheline_group_begin(a);\n", "__cacheline_group_begin(a);\nint b;\n",
    "__cacheline_group_end(a);\n", "randomized_struct_fields_start\n", "/* private: */\n", "/* fields */\nint a;\n",
    "(",
    ")", "((", "{", "}{", "[", "][", "@", "`", "\\\n", "a b c ", "a ", "enum { A };\n", "enum { A, ", "enum {",
    "int a = {", ";",
    "; ", ",", "/* aligned */", "int a;\t\t/* b\n", "\tint a;\n\t/* b */\n", "'", '"', "typeof(int) a;\n", "typeof(",
    "int\n",
    "unsigned ", "A\n", "AAAA ", "AAAA\n", "a(\n", "a(b) ", "a(b, ", "int a; int b;\n", "int a;\n\n", "\n", " ",
    "\t\n",
)  # fmt: skip
_NUMBERED = (
    "typedef struct queue t%;\n", "struct a% { struct queue q; };\n", "struct queue a%;\n", "#define a%(q) q->a\n",
    "#define a%(x) b%(x->a)\n", "struct queue *f%(void);\n", "f%(queue)->a;\n", "struct a% { int b; };\n", "int a%;\n",
    "} a%;\n", "#if A%\nint b;\n#endif\n", "#include <a%.h>\n", "typedef struct { int a; } a%;\n",
    "struct a% b = { .c = 1 };\n", "struct queue q% = { 1, 2 };\n", "/** @a%: b */\n", "enum { A% };\n",
)  # fmt: skip

C_SHAPES: Mapping[str, Shape] = {
    **{repr(one): Shape(one) for one in (*_OPENERS, *_INITIALISERS, *_CALLS, *_DIRECTIVES, *_COMMENTS)},
    **{f"struct queue {{ {one!r} }}": _body(one) for one in _MEMBERS},
    **{f"numbered {one!r}": Numbered(one, "struct queue { int a; int b; };\n") for one in _NUMBERED},
    **{f"struct queue {{ numbered {one!r} }}": Numbered(one, "struct queue {\n", "};\n") for one in _NUMBERED},
    "one line": Shape("x"),
    "one word of underscores": _behind("struct queue ", "_", " {"),
    "struct queue x ___": _behind("struct queue x ", "_"),
    "struct queue x __a __a": _behind("struct queue x ", "__a "),
    "a deep initialiser": _behind("struct queue q = ", "{", "1};"),
    "a long initialiser": _behind("struct queue q = {", "1, ", "};"),
    "a long initialiser of elements": _behind("struct queue q[] = {", "{1, 2}, ", "};"),
    "a deep element": _behind("struct queue q[] = {", "{", "};"),
    "a long statement": _behind("struct queue *q = ", "a + ", ";"),
    "a statement full of records": _behind("{ ", "struct queue, "),
    "offsets in one statement": _behind("BUILD_BUG_ON(", "offsetof(struct queue, a) + "),
    "a comment without end": _behind("/*", " struct queue { "),
    "a record in 90 records": Shape("{}", "struct queue {" + "struct a {" * 90, "}" * 90 + "};"),
    "a record in 200 records": Shape("int a; ", "struct queue {" + "struct {" * 200, "};" * 200 + "};"),
    "records in 90 conditionals": Shape("int a;\n", "struct queue {\n" + "#if A\n" * 90, "#endif\n" * 90 + "};"),
    "kernel-doc": Shape(" * @a: b\n", "/**\n * struct queue - b\n", " */\nstruct queue {\n\tint a;\n\tint b;\n};\n"),
    "kernel-doc of one line": Shape("@a, ", "/**\n * ", "\n */\nstruct queue {\n\tint a;\n\tint b;\n};\n"),
    "attributes above a record": Shape("__a ", "/** @a: b */\n", "struct queue {\n\tint a;\n\tint b;\n};\n"),
    "directives above a record": Shape("#\n", "/** @a: b */\n", "struct queue {\n\tint a;\n\tint b;\n};\n"),
    "kernel-doc of queues": Shape("/**\n * @a: b\n * @b: a\n */\nstruct queue {\n\tint a;\n\tint b;\n};\n"),
    "queues": Shape("struct queue {\n\tint a;\n\tint b;\n};\n"),
    "typedefs behind a queue": Shape("x ", "typedef struct { int a; } ", "queue_t;"),
    "macros of a queue": Shape("#define a(x) ((struct queue *)x)->b\n", "struct queue { int b; };\n"),
    "a macro of many lines": Shape("struct queue \\\n", "#define A \\\n"),
    "a member with a deep type": Shape("(", "struct queue { int ", " a; };"),
    "a member of many names": Shape("a, ", "struct queue { int ", "b; };"),
    "a macro of brackets": Shape("()", "struct queue { int a; } q;\n#define b q", "x\n"),
    "a macro of blanks": Shape(" ", "struct queue { int a; } q;\n#define b q", "x\n"),
    "records before an initialiser": Shape("struct a ", "", "= { struct queue q; };"),
    "records in records": Shape("struct a { struct queue q;\n"),
    "deep queues": Shape("struct queue { int a;\n", "", "} queue_t;"),
    "members of other names": Shape("struct queue *q", "struct queue { int a; };\nvmlinux.h"),
}

MAIL_SHAPES: Mapping[str, Shape] = {
    **{
        repr(one): Shape(one)
        for one in (
            "From a Mon Sep 17 00:00:00 2001\n", "From ", "From a ", "From:a\n", "Subject: ", "Subject:\n",
            "Subject: [\n",
            "Subject: [1/\n", "Subject: [PATCH 1/2] a\n", "Subject:a\n b\n", "Content-Type: ", "Content-Type:\n",
            "Content-Type: multipart/mixed; boundary=a\n", "Content-Type: a;\n b\n",
            "Content-Transfer-Encoding: base64\n",
            "Content-Transfer-Encoding:\n ", "--a\n", "--a--\n", "--a --\n", "--", "--\n", "---\n", "--- ",
            "--- a/queue.h\n",
            "--- a/queue.h\n+++ b/queue.h\n", "+++ ", "+++ b/queue.h\n", "--- a/b.h\n+++ b/b.h\n@@ -1 +1 @@\n", "@@",
            "@@ ",
            "@@ -1 +1 @@\n", "@@ -1,1 +1,1 @@\n-a\n+b\n", "diff --git ", "diff --git a/b.h b/b.h\n", "diff --git a ",
            "diff --git a/queue.h b/queue.h\n--- a/queue.h\n+++ b/queue.h\n", "rename from a\n", "rename to ",
            "copy from a\n",
            "commit 0123456789012345678901234567890123456789\n", "commit 0", "-a\n", "+a\n", " a\n", "\n", "\r\n",
            "\r", "=\n",
            "=3D", "=?utf-8?q?a?=", "a", " ", "Index: a\n", "GIT binary patch\n", "old mode 100644\n",
            "base-commit: a\n",
        )
    },
    "names of parts": Shape("/a", "--- a", "\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"),
    "a hunk of one line": Shape("a", "--- a/queue.h\n+++ b/queue.h\n@@ -1 +1 @@\n-", "\n+b\n"),
    "a hunk of many lines": Shape("+a\n", "--- a/queue.h\n+++ b/queue.h\n@@ -1 +1,9 @@\n"),
    "many hunks": Shape("@@ -1 +1 @@\n-int a;\n+int b;\n", "--- a/queue.h\n+++ b/queue.h\n"),
    "submodules": Shape("--- a/b\n+++ b/b\n@@ -1 +1 @@\n-Subproject commit 0\n"),
    "parts": Shape("--a\n\nb\n", "Content-Type: multipart/mixed; boundary=a\n\n"),
    "parts with ends": Shape("--a\n\n--a--\n", "Content-Type: multipart/mixed; boundary=a\n\n"),
    "parts in parts": Shape(
        "--a\nContent-Type: multipart/mixed; boundary=a\n\n", "Content-Type: multipart/mixed; boundary=a\n\n"
    ),
    "mails in mails": Shape("Content-Type: message/rfc822\n\n", "Content-Type: multipart/mixed; boundary=a\n\n--a\n"),
    "quoted-printable": Shape("=3D", "Content-Transfer-Encoding: quoted-printable\n\n"),
    "quoted line ends": Shape("=\n", "Content-Transfer-Encoding: quoted-printable\n\n"),
    "quoted blanks": Shape(" ", "Content-Transfer-Encoding: quoted-printable\n\n"),
    "base64": Shape("YWFh\n", "Content-Transfer-Encoding: base64\n\n"),
    "base64 without end": Shape("=", "Content-Transfer-Encoding: base64\n\n"),
    "a parameter in parts": Shape("a*0=b; ", "Content-Type: text/plain; ", "\n\n"),
    "mails with parts": Shape(
        "From a Mon Sep 17 00:00:00 2001\nContent-Type: multipart/mixed; boundary=a\n\n--a\n\nb\n"
    ),
}  # fmt: skip

TOML_SHAPES: Mapping[str, Shape] = {
    **{
        repr(one): Shape(one)
        for one in (
            "a.", "[", "[[", "[a]\n", "[[a]]\n", "[[type]]\n", "[a.", '["', "[a", "a", "a = 1\n", "a = [", "a = [[",
            "a = {",
            'a = "', 'a = """', "a = '''", '"', '"""', "'", "\\", "#", "# a\n", "\n", " ", "\r\n", "=", "a = ",
            "[[suppress]]\n",
            "a = 1979-05-27 ", "a = 0x", "a = _", "[type.a]\n", "[[type.group]]\n",
        )
    },
    "a key of many parts": Shape("a.", "", "a=1\n"),
    "a header of many parts": Shape("a.", "[", "a]\n"),
    "a deep array": Shape("[", "a = "),
    "a deep table": Shape("{a=", "a = "),
    "a long array": Shape("1,", "a = [", "]\n"),
    "a long list of members": Shape('"a.b",', '[[type]]\nname = "queue"\nreason = "b"\nhot = [', "]\n"),
    "a long member": Shape("a.", '[[type]]\nname = "queue"\nreason = "b"\nhot = ["', 'a"]\n'),
    "a long member without end": Shape("a[0]", '[[type]]\nname = "queue"\nreason = "b"\nhot = ["', '."]\n'),
    "a long name": Shape("a", '[[type]]\nname = "', '"\nreason = "b"\n'),
    "a long link": Shape("0 (", '[[type]]\nname = "queue"\nreason = "b"\nlink = "', '"\n'),
    "a text of escapes": Shape("\\n", 'a = "', '"\n'),
    "a long number": Shape("1", "a = ", "\n"),
    "a long time": Shape("0", "a = 1979-05-27T07:32:00.", "\n"),
    "types": Shape('[[type]]\nname = "queue"\nreason = "b"\n'),
    "types with conditions": Shape('"CONFIG_A",', '[[type]]\nname = "queue"\nreason = "b"\nconfiguration = [', "]\n"),
}  # fmt: skip

JSON_SHAPES: Mapping[str, Shape] = {
    **{repr(one): Shape(one) for one in ("[", "{", '"', "[[]],", '{"a":', "1", "-", "\\u", " ", "\n", ",", ":")},
    "a deep list": Shape("[", '[{"directory":'),
    "a deep table": Shape('{"a":', '[{"directory":'),
    "entries": Shape('{"directory":"/","file":"a.c","command":"cc -Ia a.c"},', "[", '{"directory":"/","file":"a"}]'),
    "a long command": Shape("-I a ", '[{"directory":"/","file":"a.c","command":"', '"}]'),
    "a command of quotes": Shape("'", '[{"directory":"/","file":"a.c","command":"', '"}]'),
    "a long name": Shape("../", '[{"directory":"/","file":"', 'a.c","command":"cc"}]'),
    "accepted": Shape('{"rule":"a","type":"b"},', '{"linesmith_baseline":1,"accepted":[', '{"rule":"a","type":"b"}]}'),
}

KCONFIG_SHAPES: Mapping[str, Shape] = {
    repr(one): Shape(one)
    for one in ("CONFIG_", "CONFIG_A=", "CONFIG_A=y\n", "CONFIG_A=n\n", "# CONFIG_A\n", "=", "#", "\n")
}

TABLE_SHAPES: Mapping[str, Shape] = {
    **{
        repr(one): Shape(one, "tcp_sock struct fast path usage breakdown\n")
        for one in (
            "=", "= ", "== == == ==\n", "Type Name ", "Type\tName\n", "Type\t", "a ", "a b\n",
            "a b read_mostly read\n", "\n",
            " ", "..\n", "Type Name fastpath_tx_access fastpath_rx_access\n",
        )
    },
    "a long title": Shape("a", "", " struct fast path usage breakdown"),
    "a ruler": Shape(
        "= ", "a struct fast path usage breakdown\n", "x\nType Name fastpath_tx_access fastpath_rx_access\n"
    ),
    "a ruled table": Shape(
        "int a read read\n",
        "a struct fast path usage breakdown\n=== === === ===\nType Name fastpath_tx_access fastpath_rx_access\n",
    ),
}  # fmt: skip
