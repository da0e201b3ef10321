// SPDX-License-Identifier: GPL-2.0-or-later
// Vectors that no compiler describes; what gcc and clang make of real ones is tested from Python.
#include <gtest/gtest.h>

#include "layouts/dwarf_reader.h"
#include "type_builder.h"

namespace linesmith {
namespace {

std::uint64_t Vector(DwarfBuilder& builder, std::uint64_t lane, std::vector<DieAttribute> more,
                     std::uint64_t count) {
  more.push_back(Reference(DW_AT_type, lane));
  more.push_back(Flag(DW_AT_GNU_vector));
  const std::uint64_t vector = builder.Open(DW_TAG_array_type, more);
  builder.Die(DW_TAG_subrange_type, {Amount(DW_AT_count, count)});
  builder.Close();
  return vector;
}

// The only member of the only record, which is of type `type`.
struct Member Held(DwarfBuilder& builder, std::uint64_t type) {
  builder.Open(DW_TAG_structure_type, {Name("holder"), Size(64)});
  Member(builder, "held", type, 0);
  builder.Close();
  const std::vector<std::uint8_t> image = builder.Image();
  const std::vector<Record> records = ReadRecords(*LoadDebugImage("built", image), 1, {});
  return records.back().members.front();
}

TEST(VectorTypes, ItsOwnSizeIsTakenWhereItIsStated) {
  DwarfBuilder builder;
  const std::uint64_t integer = builder.Int();
  const auto held = Held(builder, Vector(builder, integer, {Size(32)}, 5));
  EXPECT_EQ(held.size, 32u);
  EXPECT_EQ(held.natural_alignment, 32u);
}

TEST(VectorTypes, WithoutItTheLanesAreRoundedUp) {
  DwarfBuilder builder;
  const std::uint64_t integer = builder.Int();
  const auto held = Held(builder, Vector(builder, integer, {}, 3));
  EXPECT_EQ(held.size, 16u);
  EXPECT_EQ(held.natural_alignment, 16u);
  EXPECT_EQ(held.type, "int __attribute__((__vector_size__(16)))");
}

TEST(VectorTypes, AVectorOfItselfEnds) {
  DwarfBuilder builder;
  const auto held = Held(builder, Vector(builder, builder.here(), {}, 4));
  EXPECT_EQ(held.size, 0u);
  EXPECT_EQ(held.natural_alignment, 1u);
}

TEST(VectorTypes, LanesWithoutATypeHaveNoSize) {
  DwarfBuilder builder;
  const std::uint64_t nothing = builder.Die(DW_TAG_unspecified_type, {Name("nothing")});
  EXPECT_EQ(Held(builder, Vector(builder, nothing, {}, 4)).size, 0u);
}

TEST(VectorTypes, MoreLanesThanMemoryHasHaveNoSize) {
  DwarfBuilder builder;
  const std::uint64_t integer = builder.Int();
  const auto held = Held(builder, Vector(builder, integer, {}, std::uint64_t{1} << 62));
  EXPECT_EQ(held.size, 0u);
  EXPECT_EQ(held.natural_alignment, 1u);
}

TEST(VectorTypes, RecordsAsLanesAreNoRecordHeld) {
  DwarfBuilder builder;
  const std::uint64_t pair = builder.Open(DW_TAG_structure_type, {Name("pair"), Size(8)});
  Member(builder, "first", builder.here() + 100, 0);
  builder.Close();
  const auto held = Held(builder, Vector(builder, pair, {}, 2));
  EXPECT_FALSE(held.record.has_value());
  EXPECT_EQ(held.category, MemberCategory::kUnknown);
}

}  // namespace
}  // namespace linesmith
