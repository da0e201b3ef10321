// SPDX-License-Identifier: GPL-2.0-or-later
// What BTF says about members, one oddity per test; blobs are written by hand.
#include "btf/btf.h"

#include <gtest/gtest.h>

#include "btf_builder.h"

namespace linesmith {
namespace {

using Dimensions = std::vector<std::uint64_t>;

std::vector<Record> Read(const BtfBuilder& btf, bool big_endian = false) {
  const std::vector<std::uint8_t> blob = btf.Build(big_endian);
  return ReadBtfBlob("blob", blob);
}

std::string Line(const Member& member) { return member.type + " | " + member.declarator; }

// The only member of the only record, whose type is `type`.
Member OnlyMember(BtfBuilder& btf, std::uint32_t type, std::uint32_t bytes) {
  btf.Struct("s", bytes, {{"m", type, 0}});
  return Read(btf).back().members.at(0);
}

TEST(Btf, StructOfTwoMembers) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  const auto byte = btf.Int("char", 1);
  btf.Struct("pair", 8, {{"first", integer, 0}, {"second", byte, 32}});
  const std::vector<Record> records = Read(btf);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].name, "pair");
  EXPECT_EQ(records[0].size, 8U);
  EXPECT_EQ(records[0].natural_alignment, 4U);
  EXPECT_EQ(Line(records[0].members[0]), "int | first");
  EXPECT_EQ(records[0].members[1].offset, 4U);
  EXPECT_EQ(records[0].members[1].size, 1U);
}

TEST(Btf, BigEndianBlob) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  btf.Struct("pair", 8, {{"first", integer, 0}, {"second", integer, 32}});
  EXPECT_EQ(Read(btf, true).at(0).members.at(1).offset, 4U);
}

TEST(Btf, UnionMembersLieOnEachOther) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  const auto wide = btf.Sized(BtfBuilder::kFloat, "double", 8);
  btf.Union("either", 8, {{"i", integer, 0}, {"d", wide, 0}});
  const Record record = Read(btf).at(0);
  EXPECT_EQ(record.kind, RecordKind::kUnion);
  EXPECT_EQ(record.members[1].category, MemberCategory::kFloat);
  EXPECT_EQ(record.members[1].natural_alignment, 8U);
}

TEST(Btf, BitFieldOfARecordWithKindFlag) {
  BtfBuilder btf;
  const auto integer = btf.Int("unsigned int", 4);
  btf.Struct("flags", 8, {{"a", integer, 0, 32}, {"b", integer, 35, 5}});
  const Member member = Read(btf).at(0).members.at(1);
  EXPECT_EQ(member.bit_offset, 35U);
  EXPECT_EQ(member.bit_size, 5U);
  EXPECT_EQ(member.offset, 4U);
  EXPECT_EQ(member.size, 4U);
  EXPECT_EQ(member.declarator, "b");
}

TEST(Btf, BitFieldToldByTheIntegerAlone) {
  BtfBuilder btf;
  const auto three_bits = btf.BitInt("unsigned int", 4, 2, 3);
  btf.OldStruct("flags", 4, {{"a", three_bits, 8}});
  const Member member = Read(btf).at(0).members.at(0);
  EXPECT_EQ(member.bit_offset, 10U);
  EXPECT_EQ(member.bit_size, 3U);
  EXPECT_EQ(member.offset, 0U);
}

TEST(Btf, OldOffsetsHaveThirtyTwoBits) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  btf.OldStruct("vast", 0x400004, {{"last", integer, 0x2000000}});
  EXPECT_EQ(Read(btf).at(0).members.at(0).offset, 0x400000U);
}

TEST(Btf, NestedArraysAreRanksOfOneArray) {
  BtfBuilder btf;
  const auto rows = btf.Array(btf.Array(btf.Int("int", 4), 3), 2);
  const Member member = OnlyMember(btf, rows, 24);
  EXPECT_EQ(Line(member), "int | m[2][3]");
  EXPECT_EQ(member.dimensions, (Dimensions{2, 3}));
  EXPECT_EQ(member.size, 24U);
}

TEST(Btf, RanksBehindATypedefCountButAreNotWritten) {
  BtfBuilder btf;
  const auto vector = btf.Refer(BtfBuilder::kTypedef, btf.Array(btf.Int("int", 4), 4), "vec4");
  const Member member = OnlyMember(btf, btf.Array(vector, 2), 32);
  EXPECT_EQ(Line(member), "vec4 | m[2]");
  EXPECT_EQ(member.dimensions, (Dimensions{2, 4}));
}

TEST(Btf, LastArrayOfNoElementsIsFlexible) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  btf.Struct("list", 4, {{"count", integer, 0}, {"items", btf.Array(integer, 0), 32}});
  const Member member = Read(btf).at(0).members.at(1);
  EXPECT_TRUE(member.flexible);
  EXPECT_EQ(Line(member), "int | items[]");
  EXPECT_EQ(member.size, 0U);
}

TEST(Btf, ArrayOfNoElementsInTheMiddleIsAMarker) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  const auto none = btf.Array(integer, 0);
  btf.Struct("group", 4, {{"begin", none, 0}, {"count", integer, 0}});
  const Member member = Read(btf).at(0).members.at(0);
  EXPECT_FALSE(member.flexible);
  EXPECT_EQ(Line(member), "int | begin[0]");
}

TEST(Btf, FunctionPointerWithVariadicParameters) {
  BtfBuilder btf;
  const auto byte = btf.Int("char", 1);
  const auto text = btf.Refer(BtfBuilder::kPointer, btf.Refer(BtfBuilder::kConst, byte));
  const auto print = btf.Refer(BtfBuilder::kPointer, btf.Function(btf.Int("int", 4), {text, 0}));
  const Member member = OnlyMember(btf, print, 8);
  EXPECT_EQ(Line(member), "int | (*m)(const char  *, ...)");
  EXPECT_EQ(member.category, MemberCategory::kFunctionPointer);
}

TEST(Btf, FunctionWithoutParameters) {
  BtfBuilder btf;
  const Member member = OnlyMember(btf, btf.Refer(BtfBuilder::kPointer, btf.Function(0, {})), 8);
  EXPECT_EQ(Line(member), "void | (*m)(void)");
}

TEST(Btf, TypedefOfAFunctionPointerIsStillOne) {
  BtfBuilder btf;
  const auto pointer = btf.Refer(BtfBuilder::kPointer, btf.Function(0, {}));
  const Member member = OnlyMember(btf, btf.Refer(BtfBuilder::kTypedef, pointer, "hook_t"), 8);
  EXPECT_EQ(Line(member), "hook_t | m");
  EXPECT_EQ(member.category, MemberCategory::kFunctionPointer);
}

TEST(Btf, AnonymousRecordTakesTheNameOfItsTypedef) {
  BtfBuilder btf;
  const auto anonymous = btf.Struct("", 4, {{"counter", btf.Int("int", 4), 0}});
  btf.Refer(BtfBuilder::kTypedef, anonymous, "atomic_t");
  const Record record = Read(btf).at(0);
  EXPECT_EQ(record.name, "atomic_t");
  EXPECT_TRUE(record.is_typedef);
}

// BTF keeps one of several anonymous records with equal members; each typedef still names a record of its
// own.
TEST(Btf, EveryTypedefOfAnAnonymousRecordNamesOne) {
  BtfBuilder btf;
  const auto anonymous = btf.Struct("", 4, {{"word", btf.Int("int", 4), 0}});
  btf.Refer(BtfBuilder::kTypedef, anonymous, "uuid_t");
  const auto guid = btf.Refer(BtfBuilder::kTypedef, anonymous, "guid_t");
  btf.Struct("s", 4, {{"m", guid, 0}});
  const std::vector<Record> records = Read(btf);
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(records[*records[2].members[0].record].name, "guid_t");
}

TEST(Btf, AnonymousRecordHeldWithoutItsTypedefHasNoName) {
  BtfBuilder btf;
  const auto anonymous = btf.Struct("", 4, {{"word", btf.Int("int", 4), 0}});
  btf.Refer(BtfBuilder::kTypedef, anonymous, "uuid_t");
  btf.Struct("s", 4, {{"", anonymous, 0}});
  const std::vector<Record> records = Read(btf);
  EXPECT_EQ(records[*records[1].members[0].record].name, "");
}

TEST(Btf, TypedefOfATypedefNamesNothing) {
  BtfBuilder btf;
  btf.Refer(BtfBuilder::kTypedef, 2, "second_t");
  btf.Refer(BtfBuilder::kTypedef, 3, "first_t");
  btf.Struct("", 0, {});
  const std::vector<Record> records = Read(btf);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].name, "first_t");
}

TEST(Btf, NamedRecordKeepsItsName) {
  BtfBuilder btf;
  btf.Refer(BtfBuilder::kTypedef, btf.Struct("spinlock", 0, {}), "spinlock_t");
  const Record record = Read(btf).at(0);
  EXPECT_EQ(record.name, "spinlock");
  EXPECT_FALSE(record.is_typedef);
}

TEST(Btf, AnonymousMemberIsReachedByItsId) {
  BtfBuilder btf;
  const auto inner = btf.Union("", 4, {{"word", btf.Int("int", 4), 0}});
  btf.Struct("outer", 4, {{"", inner, 0}});
  const std::vector<Record> records = Read(btf);
  const Member member = records.at(1).members.at(0);
  EXPECT_EQ(Line(member), "union | ");
  EXPECT_EQ(member.record, 0U);
  EXPECT_EQ(member.category, MemberCategory::kRecord);
}

TEST(Btf, SameNameWithTwoLayoutsIsTwoRecords) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  btf.Struct("ctx", 4, {{"a", integer, 0}});
  btf.Struct("ctx", 8, {{"a", integer, 0}, {"b", integer, 32}});
  const std::vector<Record> records = Read(btf);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].name, records[1].name);
  EXPECT_NE(records[0].size, records[1].size);
}

TEST(Btf, PointerNamesItsTargetAndWhetherItMayBeWritten) {
  BtfBuilder btf;
  const auto record = btf.Struct("page", 0, {});
  const auto pointer = btf.Refer(BtfBuilder::kPointer, btf.Refer(BtfBuilder::kConst, record));
  const Member member = OnlyMember(btf, pointer, 8);
  EXPECT_EQ(member.target, "page");
  EXPECT_TRUE(member.read_only_target);
}

TEST(Btf, PointerToPointerAimsAtTheRecordBehindBoth) {
  BtfBuilder btf;
  const auto pointer = btf.Refer(BtfBuilder::kPointer, btf.Struct("page", 0, {}));
  const auto table = btf.Refer(BtfBuilder::kPointer, btf.Refer(BtfBuilder::kConst, pointer));
  const Member member = OnlyMember(btf, table, 8);
  EXPECT_EQ(member.target, "page");
  EXPECT_FALSE(member.read_only_target) << "the const is that of the inner pointer";
}

TEST(Btf, PointerToAFunctionPointerIsAPointer) {
  BtfBuilder btf;
  const auto hook = btf.Refer(BtfBuilder::kPointer, btf.Function(0, {}));
  const Member member = OnlyMember(btf, btf.Refer(BtfBuilder::kPointer, hook), 8);
  EXPECT_EQ(Line(member), "void | (**m)(void)");
  EXPECT_EQ(member.category, MemberCategory::kPointer);
}

TEST(Btf, ForwardDeclarationIsATarget) {
  BtfBuilder btf;
  const Member member = OnlyMember(btf, btf.Refer(BtfBuilder::kPointer, btf.Forward("inode", true)), 8);
  EXPECT_EQ(Line(member), "union inode * | m");
  EXPECT_EQ(member.target, "inode");
}

TEST(Btf, TypeTagsAreNotWritten) {
  BtfBuilder btf;
  const auto user = btf.Refer(BtfBuilder::kTypeTag, btf.Int("char", 1), "user");
  EXPECT_EQ(Line(OnlyMember(btf, btf.Refer(BtfBuilder::kPointer, user), 8)), "char * | m");
}

TEST(Btf, EnumOfSixtyFourBits) {
  BtfBuilder btf;
  const Member member = OnlyMember(btf, btf.Sized(BtfBuilder::kEnum64, "big", 8), 8);
  EXPECT_EQ(Line(member), "enum big | m");
  EXPECT_EQ(member.category, MemberCategory::kEnum);
}

TEST(Btf, AnonymousEnumIsWrittenOut) {
  BtfBuilder btf;
  const std::uint32_t is_signed = 1U << 31;
  const auto states = btf.Add(BtfBuilder::kEnum, "", 4, is_signed | 2, {1, 0xffffffff, 1, 7});
  btf.strings() += std::string("A\0", 2);
  EXPECT_EQ(Line(OnlyMember(btf, states, 4)), "enum {A = -1, A = 7} | m");
}

TEST(Btf, PointersAreAsWideAsLong) {
  BtfBuilder btf;
  btf.Int("long unsigned int", 4);
  EXPECT_EQ(OnlyMember(btf, btf.Refer(BtfBuilder::kPointer, 0), 4).size, 4U);
}

TEST(Btf, ComplexNumbersAlignToTheirParts) {
  BtfBuilder btf;
  EXPECT_EQ(OnlyMember(btf, btf.Sized(BtfBuilder::kFloat, "complex float", 8), 8).natural_alignment, 4U);
}

TEST(Btf, TwelveByteLongDoubleAlignsToFour) {
  BtfBuilder btf;
  EXPECT_EQ(OnlyMember(btf, btf.Sized(BtfBuilder::kFloat, "long double", 12), 12).natural_alignment, 4U);
}

TEST(Btf, MemberOfAPackedRecordNeedsNoAlignment) {
  BtfBuilder btf;
  const auto packed =
      btf.Struct("packed", 5, {{"tag", btf.Int("char", 1), 0}, {"word", btf.Int("int", 4), 8}});
  EXPECT_EQ(OnlyMember(btf, packed, 5).natural_alignment, 1U);
}

TEST(Btf, MemberOfNoTypeIsKeptAsUnknown) {
  BtfBuilder btf;
  const Member member = OnlyMember(btf, 0, 4);
  EXPECT_EQ(member.category, MemberCategory::kUnknown);
  EXPECT_EQ(member.size, 0U);
}

TEST(Btf, TypesThatAreNoMembersArePassedOver) {
  BtfBuilder btf;
  const auto integer = btf.Int("int", 4);
  const auto variable = btf.Add(BtfBuilder::kVariable, "jiffies", integer, 0, {1});
  btf.Add(BtfBuilder::kDataSection, ".data", 4, 1, {variable, 0, 4});
  btf.Refer(BtfBuilder::kFunction, btf.Function(0, {}), "main");
  const auto record = btf.Struct("s", 4, {{"m", integer, 0}});
  btf.Add(BtfBuilder::kDeclarationTag, "tagged", record, 0, {0});
  EXPECT_EQ(Read(btf).size(), 1U);
}

TEST(Btf, SplitBlobContinuesItsBase) {
  BtfBuilder kernel;
  const auto list = kernel.Struct("list_head", 16, {});
  kernel.Struct("unused", 0, {});
  BtfBuilder module(kernel.next_id(), kernel.strings_end());
  module.Struct("driver", 16, {{"list", list, 0}});
  const std::vector<std::uint8_t> base_blob = kernel.Build();
  const std::vector<std::uint8_t> blob = module.Build();
  const BtfTypes types("module", blob, std::make_shared<const BtfTypes>("kernel", base_blob, nullptr));
  const std::vector<Record> records = RecordsOf(types);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].name, "driver");
  EXPECT_EQ(Line(records[0].members[0]), "struct list_head | list");
  EXPECT_EQ(records[*records[0].members[0].record].name, "list_head");
}

}  // namespace
}  // namespace linesmith
