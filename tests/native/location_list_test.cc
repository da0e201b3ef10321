// SPDX-License-Identifier: GPL-2.0-or-later
// Lists of places and of ranges in every form that DWARF 4 and 5 have, and damaged ones.
#include "program/location_list.h"

#include <gtest/gtest.h>

#include <sstream>

#include "dwarf_builder.h"

namespace linesmith {
namespace {

const std::vector<std::uint8_t> kInRegister{DW_OP_reg5};

// The list in `bytes` as "1000-1010 1020-1030", of a unit that begins at 0x1000 and whose .debug_addr holds
// 0x5000 and 0x6000.
std::string Entries(const ByteWriter& bytes, unsigned version = 5) {
  DwarfBuilder builder(version, {Offset(DW_AT_addr_base, 8), Address(DW_AT_low_pc, 0x1000)});
  builder.Section(".debug_addr", ByteWriter().U64(0).U64(0x5000).U64(0x6000).bytes());
  builder.Section(version >= 5 ? ".debug_loclists" : ".debug_loc", bytes.bytes());
  ReadFile file(builder);
  std::ostringstream text;
  text << std::hex;
  for (const ListedLocation& entry : ReadLocationList(UnitAddresses(file.pool, file.unit()), 0)) {
    text << (text.str().empty() ? "" : " ") << entry.range.low << '-' << entry.range.high;
    if (entry.expression.size() != 1) text << '!';
  }
  return text.str();
}

TEST(LocationList, OffsetPairCountsFromTheUnit) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_offset_pair).Uleb(0).Uleb(0x10).Counted(kInRegister).U8(0)),
            "1000-1010");
}

TEST(LocationList, BaseAddressMovesTheOffsetsBehindIt) {
  ByteWriter list;
  list.U8(DW_LLE_base_address).U64(0x8000);
  list.U8(DW_LLE_offset_pair).Uleb(4).Uleb(8).Counted(kInRegister).U8(0);
  EXPECT_EQ(Entries(list), "8004-8008");
}

TEST(LocationList, BaseAddressByIndex) {
  ByteWriter list;
  list.U8(DW_LLE_base_addressx).Uleb(1);
  list.U8(DW_LLE_offset_pair).Uleb(4).Uleb(8).Counted(kInRegister).U8(0);
  EXPECT_EQ(Entries(list), "6004-6008");
}

TEST(LocationList, StartAndEndByIndex) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_startx_endx).Uleb(0).Uleb(1).Counted(kInRegister).U8(0)),
            "5000-6000");
}

TEST(LocationList, StartByIndexAndLength) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_startx_length).Uleb(1).Uleb(9).Counted(kInRegister).U8(0)),
            "6000-6009");
}

TEST(LocationList, StartAndEnd) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_start_end).U64(0x20).U64(0x30).Counted(kInRegister).U8(0)),
            "20-30");
}

TEST(LocationList, StartAndLength) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_start_length).U64(0x20).Uleb(8).Counted(kInRegister).U8(0)),
            "20-28");
}

TEST(LocationList, ViewPairsAreSteppedOver) {
  ByteWriter list;
  list.U8(9).Uleb(0).Uleb(2);
  list.U8(DW_LLE_offset_pair).Uleb(0).Uleb(0x10).Counted(kInRegister).U8(0);
  EXPECT_EQ(Entries(list), "1000-1010");
}

TEST(LocationList, DefaultLocationHasNoRange) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_default_location).Counted(kInRegister).U8(0)), "0-0");
}

TEST(LocationList, EmptyRangesAreLeftOut) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_offset_pair).Uleb(8).Uleb(8).Counted(kInRegister).U8(0)), "");
}

TEST(LocationList, IndexOutsideTheAddressTableLosesOneEntry) {
  ByteWriter list;
  list.U8(DW_LLE_startx_length).Uleb(77).Uleb(9).Counted(kInRegister);
  list.U8(DW_LLE_startx_length).Uleb(0).Uleb(9).Counted(kInRegister).U8(0);
  EXPECT_EQ(Entries(list), "5000-5009");
}

TEST(LocationList, UnknownKindEndsTheList) {
  ByteWriter list;
  list.U8(DW_LLE_offset_pair).Uleb(0).Uleb(0x10).Counted(kInRegister);
  list.U8(0x55).U8(DW_LLE_offset_pair).Uleb(0x20).Uleb(0x30).Counted(kInRegister).U8(0);
  EXPECT_EQ(Entries(list), "1000-1010");
}

TEST(LocationList, ListWithoutEndStopsWithTheSection) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_offset_pair).Uleb(0).Uleb(0x10).Counted(kInRegister)),
            "1000-1010");
}

TEST(LocationList, ExpressionBehindTheSectionIsDamage) {
  EXPECT_EQ(Entries(ByteWriter().U8(DW_LLE_offset_pair).Uleb(0).Uleb(0x10).Uleb(1000).U8(DW_OP_reg0)), "");
}

TEST(LocationList, EntriesOfHugeListsAreCut) {
  ByteWriter list;
  for (std::size_t i = 0; i < kMostListEntries + 10; ++i) {
    list.U8(DW_LLE_offset_pair).Uleb(i).Uleb(i + 1).Counted(kInRegister);
  }
  DwarfBuilder builder;
  builder.Section(".debug_loclists", list.bytes());
  ReadFile file(builder);
  EXPECT_EQ(ReadLocationList(UnitAddresses(file.pool, file.unit()), 0).size(), kMostListEntries);
}

TEST(LocationList, Dwarf4PairsCountFromTheUnit) {
  ByteWriter list;
  list.U64(0x10).U64(0x20).U16(1).U8(DW_OP_reg5).U64(0).U64(0);
  EXPECT_EQ(Entries(list, 4), "1010-1020");
}

TEST(LocationList, Dwarf4LargestAddressSelectsABase) {
  ByteWriter list;
  list.U64(~0ull).U64(0x9000);
  list.U64(0x10).U64(0x20).U16(1).U8(DW_OP_reg5).U64(0).U64(0);
  EXPECT_EQ(Entries(list, 4), "9010-9020");
}

TEST(LocationList, Dwarf4EntryBehindTheSectionIsDamage) {
  EXPECT_EQ(Entries(ByteWriter().U64(0x10).U64(0x20).U16(900).U8(DW_OP_reg5), 4), "");
}

TEST(LocationList, ManyUnitsCannotReadOneListOverAndOver) {
  DwarfBuilder builder;
  builder.Section(".debug_loclists", std::vector<std::uint8_t>(1 << 20, DW_LLE_base_addressx));
  ReadFile file(builder);
  const UnitAddresses addresses(file.pool, file.unit());
  EXPECT_THROW(
      {
        for (int i = 0; i < 100'000; ++i) addresses.Spend(1 << 20);
      },
      Truncated);
}

// The ranges of a DIE with `attributes`, as Entries() writes them.
std::string Ranges(unsigned version, const std::vector<DieAttribute>& attributes, const ByteWriter& list,
                   std::vector<DieAttribute> root = {}) {
  root.push_back(Offset(DW_AT_addr_base, 8));
  root.push_back(Address(DW_AT_low_pc, 0x1000));
  DwarfBuilder builder(version, std::move(root));
  builder.Open(DW_TAG_subprogram, attributes);
  builder.Close();
  builder.Section(".debug_addr", ByteWriter().U64(0).U64(0x5000).U64(0x6000).bytes());
  builder.Section(version >= 5 ? ".debug_rnglists" : ".debug_ranges", list.bytes());
  ReadFile file(builder);
  std::ostringstream text;
  text << std::hex;
  for (const FunctionFacts& function : file.facts().functions) {
    for (const AddressRange& range : function.ranges) {
      text << (text.str().empty() ? "" : " ") << range.low << '-' << range.high;
    }
  }
  return text.str();
}

TEST(Ranges, HighPcIsALengthOrAnAddress) {
  EXPECT_EQ(Ranges(5, {Address(DW_AT_low_pc, 0x40), Amount(DW_AT_high_pc, 0x10)}, {}), "40-50");
  EXPECT_EQ(Ranges(2, {Address(DW_AT_low_pc, 0x40), Address(DW_AT_high_pc, 0x60)}, {}), "40-60");
}

TEST(Ranges, LowPcByIndex) {
  EXPECT_EQ(Ranges(5, {Index(DW_AT_low_pc, DW_FORM_addrx, 1), Amount(DW_AT_high_pc, 0x10)}, {}), "6000-6010");
}

TEST(Ranges, DroppedFunctionsHaveNone) {
  EXPECT_EQ(Ranges(5, {Address(DW_AT_low_pc, 0), Amount(DW_AT_high_pc, 0x10)}, {}), "");
  EXPECT_EQ(Ranges(5, {Address(DW_AT_low_pc, ~0ull), Amount(DW_AT_high_pc, 0x10)}, {}), "");
}

TEST(Ranges, HighPcBelowLowPcIsNone) {
  EXPECT_EQ(Ranges(5, {Address(DW_AT_low_pc, 0x40), Address(DW_AT_high_pc, 0x30)}, {}), "");
}

TEST(Ranges, HotAndColdPartsStayInTheirOrder) {
  ByteWriter list;
  list.U8(DW_RLE_offset_pair).Uleb(0x80).Uleb(0x90).U8(DW_RLE_offset_pair).Uleb(0).Uleb(4).U8(0);
  EXPECT_EQ(Ranges(5, {Offset(DW_AT_ranges, 0)}, list), "1080-1090 1000-1004");
}

TEST(Ranges, ListByIndex) {
  ByteWriter list;
  list.U32(4).U8(DW_RLE_startx_length).Uleb(0).Uleb(4).U8(0);
  EXPECT_EQ(Ranges(5, {Index(DW_AT_ranges, DW_FORM_rnglistx, 0)}, list, {Offset(DW_AT_rnglists_base, 0)}),
            "5000-5004");
}

TEST(Ranges, ListIndexOutsideIsNone) {
  EXPECT_EQ(Ranges(5, {Index(DW_AT_ranges, DW_FORM_rnglistx, 99)}, ByteWriter().U32(4)), "");
}

TEST(Ranges, Dwarf4Pairs) {
  EXPECT_EQ(Ranges(4, {Offset(DW_AT_ranges, 0)}, ByteWriter().U64(1).U64(5).U64(0).U64(0)), "1001-1005");
}

TEST(Ranges, OffsetBehindTheSectionIsNone) { EXPECT_EQ(Ranges(4, {Offset(DW_AT_ranges, 5000)}, {}), ""); }

TEST(Uncovered, PartsOfAFunctionInAnyOrder) {
  const std::vector<ListedLocation> list{{{0, 100}, {}}, {{105, 110}, {}}};
  const std::vector<AddressRange> gaps = Uncovered({{100, 110}, {20, 30}}, list);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].low, 100u);
  EXPECT_EQ(gaps[0].high, 105u);
}

TEST(Uncovered, GapsAreWhereNoEntrySpeaks) {
  const std::vector<ListedLocation> list{{{10, 20}, {}}, {{}, {}}, {{15, 30}, {}}};
  const std::vector<AddressRange> gaps = Uncovered({{0, 40}}, list);
  ASSERT_EQ(gaps.size(), 2u);
  EXPECT_EQ(gaps[0].high, 10u);
  EXPECT_EQ(gaps[1].low, 30u);
}

}  // namespace
}  // namespace linesmith
