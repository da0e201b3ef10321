// SPDX-License-Identifier: GPL-2.0-or-later
// The two columns of a member, one C declaration per test.
#include "records/declarator.h"

#include <gtest/gtest.h>

namespace linesmith {
namespace {

std::string Line(const Columns& columns) { return columns.type + " | " + columns.declarator; }

TEST(Declarator, PlainType) { EXPECT_EQ(Line(Declarator("count").Finish("int")), "int | count"); }

TEST(Declarator, PointersStandInTheTypeColumn) {
  Declarator pages("pages");
  pages.AddPointer();
  pages.AddPointer();
  EXPECT_EQ(Line(pages.Finish("struct page")), "struct page * * | pages");
}

TEST(Declarator, QualifiedPointeeKeepsTheSpacingOfPahole) {
  Declarator name("name");
  name.AddPointer();
  name.AddQualifier("const");
  EXPECT_EQ(Line(name.Finish("char")), "const char  * | name");
}

TEST(Declarator, QualifierOfThePointerFollowsIt) {
  Declarator name("name");
  name.AddQualifier("const");
  name.AddPointer();
  EXPECT_EQ(Line(name.Finish("char")), "char * const | name");
}

TEST(Declarator, QualifierOfAnArrayBelongsToItsElementsOnce) {
  Declarator table("table");
  table.AddQualifier("const");
  table.AddArray({3}, false);
  table.AddQualifier("const");
  EXPECT_EQ(Line(table.Finish("int")), "const int | table[3]");
}

TEST(Declarator, RanksAreWrittenOutermostFirst) {
  Declarator grid("grid");
  grid.AddArray({2, 3}, false);
  EXPECT_EQ(Line(grid.Finish("u8")), "u8 | grid[2][3]");
}

TEST(Declarator, FlexibleArrayHasNoFirstCount) {
  Declarator rows("rows");
  rows.AddArray({0, 4}, true);
  EXPECT_EQ(Line(rows.Finish("int")), "int | rows[][4]");
}

TEST(Declarator, ArrayOfPointers) {
  Declarator slots("slots");
  slots.AddArray({5}, false);
  slots.AddPointer();
  EXPECT_EQ(Line(slots.Finish("void")), "void * | slots[5]");
}

TEST(Declarator, PointerToArray) {
  Declarator row("row");
  row.AddPointer();
  row.AddArray({5}, false);
  EXPECT_EQ(Line(row.Finish("int")), "int | (*row)[5]");
}

TEST(Declarator, FunctionPointer) {
  Declarator open("open");
  open.AddPointer();
  open.AddFunction("struct file *");
  EXPECT_EQ(Line(open.Finish("int")), "int | (*open)(struct file *)");
}

TEST(Declarator, ConstantFunctionPointer) {
  Declarator open("open");
  open.AddQualifier("const");
  open.AddPointer();
  open.AddFunction("void");
  EXPECT_EQ(Line(open.Finish("int")), "int | (* const open)(void)");
}

TEST(Declarator, ArrayOfFunctionPointers) {
  Declarator hooks("hooks");
  hooks.AddArray({3}, false);
  hooks.AddPointer();
  hooks.AddFunction("void");
  EXPECT_EQ(Line(hooks.Finish("int")), "int | (*hooks[3])(void)");
}

TEST(Declarator, FunctionThatReturnsAFunctionPointer) {
  Declarator find("find");
  find.AddPointer();
  find.AddFunction("int");
  find.AddPointer();
  find.AddFunction("char");
  EXPECT_EQ(Line(find.Finish("void")), "void | (*(*find)(int))(char)");
}

TEST(Declarator, AbstractDeclaratorOfAParameter) {
  Declarator parameter("");
  parameter.AddPointer();
  parameter.AddFunction("int");
  EXPECT_EQ(Join(parameter.Finish("int")), "int (*)(int)");
}

}  // namespace
}  // namespace linesmith
