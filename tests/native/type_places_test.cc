// SPDX-License-Identifier: GPL-2.0-or-later
// What lies at a place of a type, through records, unions and arrays.
#include <gtest/gtest.h>

#include "type_builder.h"
#include "types/type_graph.h"

namespace linesmith {
namespace {

// struct outer { int head; /* hole of 4 */ struct { int *link; int numbers[4]; } inner[2]; char tail[]; }
struct Outer {
  DwarfBuilder builder;
  std::uint64_t inner;
  std::uint64_t outer;

  Outer() {
    const auto integer = builder.Int();
    const auto byte = builder.Die(DW_TAG_base_type, {Name("char"), Size(1)});
    const auto link = builder.PointerTo(integer);
    const auto numbers = Array(builder, integer, {4});
    inner = builder.Open(DW_TAG_structure_type, {Name("inner"), Size(24)});
    Member(builder, "link", link, 0);
    Member(builder, "numbers", numbers, 8);
    builder.Close();
    const auto inners = Array(builder, inner, {2});
    const auto tail = builder.Open(DW_TAG_array_type, {Reference(DW_AT_type, byte)});
    builder.Die(DW_TAG_subrange_type, {});
    builder.Close();
    outer = builder.Open(DW_TAG_structure_type, {Name("outer"), Size(56)});
    Member(builder, "head", integer, 0);
    Member(builder, "inner", inners, 8);
    Member(builder, "tail", tail, 56);
    builder.Close();
  }
};

TEST(Leaf, GoesThroughArraysAndRecords) {
  Outer outer;
  ReadFile file(outer.builder);
  const TypeId type = TypeAt(file, outer.outer);
  EXPECT_EQ(LeafAt(file, type, 0, 4), "int+0");
  EXPECT_EQ(LeafAt(file, type, 32, 8), "*+0");
  EXPECT_EQ(LeafAt(file, type, 45, 1), "int+1");
}

TEST(Leaf, AccessOverSeveralMembersIsOfWhatHoldsThem) {
  Outer outer;
  ReadFile file(outer.builder);
  const TypeId type = TypeAt(file, outer.outer);
  EXPECT_EQ(LeafAt(file, type, 16, 8), "[]+0");
  EXPECT_EQ(LeafAt(file, type, 8, 16), "inner+0");
  EXPECT_EQ(LeafAt(file, type, 0, 16), "outer+0");
}

TEST(Leaf, HoleIsNothing) {
  Outer outer;
  ReadFile file(outer.builder);
  EXPECT_EQ(LeafAt(file, TypeAt(file, outer.outer), 4, 4), "none");
}

TEST(Leaf, OpenArrayReachesBehindTheRecord) {
  Outer outer;
  ReadFile file(outer.builder);
  EXPECT_EQ(LeafAt(file, TypeAt(file, outer.outer), 1000, 1), "char+0");
  EXPECT_EQ(LeafAt(file, TypeAt(file, outer.inner), 24, 1), "none");
}

// struct { int count; union { struct { struct {} empty; int numbers[]; }; }; }
TEST(Leaf, OpenArrayInsideOfRecordsWithoutSize) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto open = builder.Open(DW_TAG_array_type, {Reference(DW_AT_type, integer)});
  builder.Die(DW_TAG_subrange_type, {});
  builder.Close();
  const auto empty = builder.Die(DW_TAG_structure_type, {Size(0)});
  const auto inner = builder.Open(DW_TAG_structure_type, {Size(0)});
  Member(builder, "empty", empty, 0);
  Member(builder, "numbers", open, 0);
  builder.Close();
  const auto either = builder.Open(DW_TAG_union_type, {Size(0)});
  Member(builder, "", inner, 0);
  builder.Close();
  const auto record = builder.Open(DW_TAG_structure_type, {Name("counted"), Size(4)});
  Member(builder, "count", integer, 0);
  Member(builder, "", either, 4);
  builder.Close();
  ReadFile file(builder);
  const TypeId type = TypeAt(file, record);
  EXPECT_EQ(LeafAt(file, type, 40, 4), "int+0");
  EXPECT_TRUE(file.graph.Holds(type, 40, TypeAt(file, integer)));
}

TEST(Leaf, WidthNotKnownIsWhatBeginsThere) {
  Outer outer;
  ReadFile file(outer.builder);
  EXPECT_EQ(LeafAt(file, TypeAt(file, outer.outer), 8, 0), "*+0");
  EXPECT_EQ(LeafAt(file, TypeAt(file, outer.outer), 9, 0), "none");
}

TEST(Leaf, UnionMemberOfTheWidthIsPreferred) {
  DwarfBuilder builder;
  const auto byte = builder.Die(DW_TAG_base_type, {Name("char"), Size(1)});
  const auto integer = builder.Int();
  const auto either = builder.Open(DW_TAG_union_type, {Name("either"), Size(4)});
  builder.Die(DW_TAG_member, {Name("word"), Reference(DW_AT_type, integer)});
  builder.Die(DW_TAG_member, {Name("byte"), Reference(DW_AT_type, byte)});
  builder.Close();
  ReadFile file(builder);
  EXPECT_EQ(LeafAt(file, TypeAt(file, either), 0, 1), "char+0");
  EXPECT_EQ(LeafAt(file, TypeAt(file, either), 0, 2), "int+0");
}

TEST(Leaf, HugeOffsetsAreOutside) {
  Outer outer;
  ReadFile file(outer.builder);
  EXPECT_EQ(LeafAt(file, TypeAt(file, outer.inner), ~0ull, 8), "none");
}

TEST(Holds, ElementsOfEmbeddedArrays) {
  Outer outer;
  ReadFile file(outer.builder);
  const TypeId whole = TypeAt(file, outer.outer);
  const TypeId part = TypeAt(file, outer.inner);
  EXPECT_TRUE(file.graph.Holds(whole, 8, part));
  EXPECT_TRUE(file.graph.Holds(whole, 32, part));
  EXPECT_FALSE(file.graph.Holds(whole, 16, part));
  EXPECT_FALSE(file.graph.Holds(part, 0, whole));
}

TEST(Holds, RecordThatHoldsItselfEnds) {
  DwarfBuilder builder;
  const auto record = builder.Open(DW_TAG_structure_type, {Name("snake"), Size(4)});
  Member(builder, "tail", record, 0);
  Member(builder, "other", record, 0);
  builder.Close();
  ReadFile file(builder);
  const TypeId snake = TypeAt(file, record);
  EXPECT_FALSE(file.graph.Holds(snake, 0, kVoid));
  EXPECT_EQ(LeafAt(file, snake, 0, 4), "none");
}

}  // namespace
}  // namespace linesmith
