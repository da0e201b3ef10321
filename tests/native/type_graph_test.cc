// SPDX-License-Identifier: GPL-2.0-or-later
// Types as the inference sees them: told apart, and followed.
#include "types/type_graph.h"

#include <gtest/gtest.h>

#include "type_builder.h"

namespace linesmith {
namespace {

TEST(TypeGraph, QualifiersAndTypedefsAreTakenOff) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto constant = builder.Die(DW_TAG_const_type, {Reference(DW_AT_type, integer)});
  const auto alias = builder.Die(DW_TAG_typedef, {Name("word"), Reference(DW_AT_type, constant)});
  ReadFile file(builder);
  EXPECT_EQ(TypeAt(file, alias), TypeAt(file, integer));
  EXPECT_EQ(file.graph[TypeAt(file, alias)].name, "int");
}

TEST(TypeGraph, PointersToOneTypeAreOne) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto first = builder.PointerTo(integer);
  const auto second = builder.PointerTo(integer);
  ReadFile file(builder);
  EXPECT_EQ(TypeAt(file, first), TypeAt(file, second));
  EXPECT_EQ(TypeAt(file, first), file.graph.PointerTo(TypeAt(file, integer)));
}

TEST(TypeGraph, PointerWithoutATypeLeadsToVoid) {
  DwarfBuilder builder;
  const auto pointer = builder.Die(DW_TAG_pointer_type, {Size(8)});
  ReadFile file(builder);
  EXPECT_EQ(file.graph[TypeAt(file, pointer)].kind, TypeKind::kPointer);
  EXPECT_EQ(file.graph[TypeAt(file, pointer)].target, kVoid);
}

TEST(TypeGraph, RecordsOfTwoUnitsAreOne) {
  DwarfBuilder builder;
  const auto pair = [&] {
    const auto integer = builder.Int();
    const auto record = builder.Open(DW_TAG_structure_type, {Name("pair"), Size(8)});
    Member(builder, "first", integer, 0);
    Member(builder, "second", integer, 4);
    builder.Close();
    return record;
  };
  const auto first = pair();
  builder.NextUnit();
  const auto second = pair();
  ReadFile file(builder);
  const TypeId type = TypeAt(file, first);
  EXPECT_EQ(type, TypeAt(file, second, 1));
  EXPECT_EQ(file.graph.Fields(type).size(), 2u);
}

TEST(TypeGraph, RecordsOfOneNameAndOtherMembersStayApart) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto first = builder.Open(DW_TAG_structure_type, {Name("pair"), Size(8)});
  Member(builder, "first", integer, 0);
  builder.Close();
  const auto second = builder.Open(DW_TAG_structure_type, {Name("pair"), Size(8)});
  Member(builder, "other", integer, 0);
  builder.Close();
  ReadFile file(builder);
  EXPECT_NE(TypeAt(file, first), TypeAt(file, second));
}

TEST(TypeGraph, TypedefNamesAnAnonymousRecord) {
  DwarfBuilder builder;
  const auto record = builder.Open(DW_TAG_structure_type, {Size(4)});
  Member(builder, "counter", builder.here() + 100, 0);
  builder.Close();
  builder.Die(DW_TAG_typedef, {Name("atomic_t"), Reference(DW_AT_type, record)});
  ReadFile file(builder);
  EXPECT_EQ(file.graph[TypeAt(file, record)].name, "atomic_t");
}

// Two units share `holder`, whose member points to `held`; only the second one defines that.
struct SharedHolder {
  DwarfBuilder builder;
  std::uint64_t holder[2];

  SharedHolder() {
    AddUnit(0, false);
    builder.NextUnit();
    AddUnit(1, true);
  }
  void AddUnit(int unit, bool defined) {
    const auto integer = builder.Int();
    const auto held =
        builder.Open(DW_TAG_structure_type, defined ? std::vector{Name("held"), Size(4)}
                                                    : std::vector{Name("held"), Flag(DW_AT_declaration)});
    if (defined) Member(builder, "value", integer, 0);
    builder.Close();
    const auto pointer = builder.PointerTo(held);
    holder[unit] = builder.Open(DW_TAG_structure_type, {Name("holder"), Size(8)});
    Member(builder, "held", pointer, 0);
    builder.Close();
  }
};

TEST(TypeGraph, DeclaredRecordIsWhatTheUnitEnteredDefines) {
  SharedHolder shared;
  ReadFile file(shared.builder);
  const TypeId holder = TypeAt(file, shared.holder[0]);
  file.graph.Enter(file.unit(0));
  const TypeId pointer = file.graph.Fields(holder).at(0).type;
  EXPECT_EQ(file.graph[file.graph[pointer].target].identity, 0u);
  EXPECT_EQ(TypeAt(file, shared.holder[1], 1), holder);
  file.graph.Enter(file.unit(1));
  const TypeId held = file.graph[pointer].target;
  EXPECT_NE(file.graph[held].identity, 0u);
  EXPECT_EQ(file.graph.Fields(held).size(), 1u);
  file.graph.Enter(file.unit(0));
  EXPECT_EQ(file.graph[file.graph[pointer].target].identity, 0u);
}

// Two units share `holder` and define what it points to as they like.
TEST(TypeGraph, PointerInASharedRecordLeadsToTheDefinitionOfEachUnit) {
  DwarfBuilder builder;
  const auto unit = [&](const std::string& member) {
    const auto integer = builder.Int();
    const auto held = builder.Open(DW_TAG_structure_type, {Name("held"), Size(4)});
    Member(builder, member, integer, 0);
    builder.Close();
    const auto pointer = builder.PointerTo(held);
    const auto holder = builder.Open(DW_TAG_structure_type, {Name("holder"), Size(8)});
    Member(builder, "held", pointer, 0);
    builder.Close();
    return std::pair(held, holder);
  };
  const auto first = unit("one");
  builder.NextUnit();
  const auto second = unit("other");
  ReadFile file(builder);
  const TypeId holder = TypeAt(file, first.second);
  EXPECT_EQ(TypeAt(file, second.second, 1), holder);
  const TypeId pointer = file.graph.Fields(holder).at(0).type;
  file.graph.Enter(file.unit(1));
  EXPECT_EQ(file.graph[pointer].target, TypeAt(file, second.first, 1));
  file.graph.Enter(file.unit(0));
  EXPECT_EQ(file.graph[pointer].target, TypeAt(file, first.first));
  EXPECT_NE(TypeAt(file, first.first), TypeAt(file, second.first, 1));
}

TEST(TypeGraph, NameThatAUnitDefinesTwiceIsNeither) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  std::uint64_t pointers[2];
  for (const std::uint64_t size : {4, 8}) {
    const auto record = builder.Open(DW_TAG_structure_type, {Name("local"), Size(size)});
    Member(builder, "value", integer, 0);
    builder.Close();
    pointers[size == 8] = builder.PointerTo(record);
  }
  ReadFile file(builder);
  file.graph.Enter(file.unit());
  for (const std::uint64_t pointer : pointers) {
    EXPECT_EQ(file.graph[file.graph[TypeAt(file, pointer)].target].identity, 0u);
  }
}

// The first unit has no definition of its own, but refers to types of other units, as link-time optimisation
// leaves it.
TEST(TypeGraph, DeclaredRecordIsWhatAnyUnitDefinesWhereTypesAreShared) {
  SharedHolder shared;
  shared.builder.NextUnit();
  shared.builder.Die(DW_TAG_variable, {{DW_AT_type, DW_FORM_ref_addr, ByteWriter().U32(0x30).bytes()}});
  ReadFile file(shared.builder);
  const TypeId pointer = file.graph.Fields(TypeAt(file, shared.holder[0])).at(0).type;
  file.graph.Enter(file.unit(2));
  EXPECT_NE(file.graph[file.graph[pointer].target].identity, 0u);
}

TEST(TypeGraph, TypesOutliveTheUnitsThatWereTrimmed) {
  SharedHolder shared;
  ReadFile file(shared.builder);
  file.graph.Enter(file.unit(1));
  const TypeId holder = TypeAt(file, shared.holder[1], 1);
  file.pool.Trim();
  const TypeId pointer = file.graph.Fields(holder).at(0).type;
  file.pool.Trim();
  EXPECT_EQ(LeafAt(file, file.graph[pointer].target, 0, 4), "int+0");
  EXPECT_EQ(TypeAt(file, shared.holder[1], 1), holder);
}

TEST(TypeGraph, TypedefOfItselfIsVoid) {
  DwarfBuilder builder;
  const auto alias = builder.Die(DW_TAG_typedef, {Name("loop"), Reference(DW_AT_type, builder.here())});
  ReadFile file(builder);
  EXPECT_EQ(TypeAt(file, alias), kVoid);
}

TEST(TypeGraph, PointersNestedWithoutEndAreCut) {
  DwarfBuilder builder;
  auto type = builder.Int();
  for (int i = 0; i < 10'000; ++i) type = builder.PointerTo(type);
  ReadFile file(builder);
  EXPECT_EQ(file.graph[TypeAt(file, type)].kind, TypeKind::kPointer);
  EXPECT_LT(file.graph.size(), 200u);
}

TEST(TypeGraph, ReferenceOutsideTheUnitIsVoid) {
  DwarfBuilder builder;
  const auto alias = builder.Die(DW_TAG_typedef, {Name("far"), Reference(DW_AT_type, 1 << 20)});
  ReadFile file(builder);
  EXPECT_EQ(TypeAt(file, alias), kVoid);
  EXPECT_EQ(file.graph.Of(file.unit(), 1 << 20), kVoid);
}

TEST(TypeGraph, ReferenceIntoTheMiddleOfADieIsVoid) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  ReadFile file(builder);
  EXPECT_EQ(TypeAt(file, integer + 1), kVoid);
}

TEST(TypeGraph, BitFieldsLieInTheBytesOfTheirBits) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto record = builder.Open(DW_TAG_structure_type, {Name("bits"), Size(4)});
  builder.Die(DW_TAG_member, {Name("flag"), Reference(DW_AT_type, integer), Amount(DW_AT_bit_size, 10),
                              Amount(DW_AT_data_bit_offset, 12)});
  builder.Close();
  ReadFile file(builder);
  const Field field = file.graph.Fields(TypeAt(file, record)).at(0);
  EXPECT_EQ(field.offset, 1u);
  EXPECT_EQ(field.size, 2u);
}

TEST(TypeGraph, StaticMembersAreNoFields) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto record = builder.Open(DW_TAG_structure_type, {Name("counted"), Size(4)});
  builder.Die(DW_TAG_member,
              {Name("count"), Reference(DW_AT_type, integer), Flag(DW_AT_external), Flag(DW_AT_declaration)});
  Member(builder, "value", integer, 0);
  builder.Close();
  ReadFile file(builder);
  EXPECT_EQ(file.graph.Fields(TypeAt(file, record)).size(), 1u);
}

TEST(TypeGraph, ArraysOfArraysAreFlat) {
  DwarfBuilder builder;
  const auto integer = builder.Int();
  const auto row =
      builder.Die(DW_TAG_typedef, {Name("row"), Reference(DW_AT_type, Array(builder, integer, {3}))});
  const auto table = Array(builder, row, {2, 5});
  ReadFile file(builder);
  const TypeNode& node = file.graph[TypeAt(file, table)];
  EXPECT_EQ(node.size, 120u);
  EXPECT_EQ(node.target, TypeAt(file, integer));
}

TEST(TypeGraph, ArrayLargerThanMemoryHasNoSize) {
  DwarfBuilder builder;
  const auto array = Array(builder, builder.Int(), {1ull << 62, 8});
  ReadFile file(builder);
  EXPECT_EQ(file.graph[TypeAt(file, array)].size, 0u);
}

}  // namespace
}  // namespace linesmith
