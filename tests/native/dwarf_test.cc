// SPDX-License-Identifier: GPL-2.0-or-later
// What the DWARF reader does with bytes that no compiler writes; real compilers' output is tested from
// Python.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/error.h"
#include "dwarf/debug_loader.h"
#include "layouts/dwarf_reader.h"
#include "layouts/record_builder.h"

namespace linesmith {
namespace {

std::vector<std::uint8_t> OwnImage() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Attributes BitField(std::uint64_t size) {
  Attributes attributes;
  attributes.Set(Slot::kBitSize, size);
  return attributes;
}

TEST(BitPlace, DataBitOffsetCountsFromTheRecord) {
  Attributes field = BitField(3);
  field.Set(Slot::kDataBitOffset, 37);
  const BitPlace place = PlaceBitField(field, 4, true);
  EXPECT_EQ(place.offset, 4u);
  EXPECT_EQ(place.bit_offset, 37u);
}

TEST(BitPlace, OldBitOffsetCountsFromTheTopOfTheStorageUnit) {
  Attributes field = BitField(3);
  field.Set(Slot::kMemberLocation, 4);
  field.Set(Slot::kByteSize, 4);
  field.Set(Slot::kBitOffset, 24);
  EXPECT_EQ(PlaceBitField(field, 4, true).bit_offset, 37u);
  EXPECT_EQ(PlaceBitField(field, 4, false).bit_offset, 56u);
}

TEST(BitPlace, PackedFieldAcrossTwoUnitsStartsAtItsFirstByte) {
  Attributes field = BitField(12);
  field.Set(Slot::kDataBitOffset, 28);
  EXPECT_EQ(PlaceBitField(field, 4, true).offset, 3u);
}

TEST(TextBudget, TextOutOfProportionIsAnErrorThatNamesTheFile) {
  TextBudget budget("huge", 1000);
  budget.Spend(1000);
  try {
    budget.Spend(std::size_t{1} << 30);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, "DebugInfoDamaged");
    EXPECT_EQ(std::string(error.what()).substr(0, 6), "huge: ");
  }
}

TEST(DwarfReader, RecordsDoNotDependOnTheNumberOfThreads) {
  const std::vector<std::uint8_t> image = OwnImage();
  const auto info = LoadDebugImage("self", image);
  const std::vector<Record> one = ReadRecords(*info, 1, {});
  const std::vector<Record> four = ReadRecords(*info, 4, {});
  ASSERT_GT(one.size(), 100u);
  ASSERT_EQ(one.size(), four.size());
  for (std::size_t id = 0; id < one.size(); ++id) {
    ASSERT_EQ(one[id].name, four[id].name);
    ASSERT_EQ(one[id].units, four[id].units);
    ASSERT_EQ(one[id].members.size(), four[id].members.size());
  }
}

TEST(DwarfReader, AnyPrefixOfAFileEndsInAnErrorOrAResult) {
  const std::vector<std::uint8_t> image = OwnImage();
  for (std::size_t size = image.size(); size > 0; size = size * 7 / 8) {
    try {
      ReadRecords(*LoadDebugImage("cut", Bytes(image).first(size)), 1, {});
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("cut: "), std::string::npos);
    }
  }
}

TEST(DwarfReader, ProgressThatThrowsStopsTheReading) {
  const std::vector<std::uint8_t> image = OwnImage();
  const auto info = LoadDebugImage("self", image);
  struct Interrupted {};
  EXPECT_THROW(ReadRecords(*info, 1, [](auto, auto) { throw Interrupted(); }), Interrupted);
}

}  // namespace
}  // namespace linesmith
