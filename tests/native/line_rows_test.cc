// SPDX-License-Identifier: GPL-2.0-or-later
// Line number programs, written by hand: what each operation does, and what damage costs.
#include "program/line_rows.h"

#include <gtest/gtest.h>

#include <sstream>

#include "dwarf_builder.h"

namespace linesmith {
namespace {

struct LineTable {
  unsigned version = 4;
  unsigned line_range = 14;
  unsigned operations = 1;

  // The bytes of a table around `program`: line base -5, thirteen opcodes, instructions of one byte.
  std::vector<std::uint8_t> Bytes(const ByteWriter& program) const {
    ByteWriter header;
    header.U8(1);
    if (version >= 4) header.U8(operations);
    header.U8(1).U8(0xfb).U8(line_range).U8(13);
    for (const unsigned operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) header.U8(operands);
    if (version >= 5) {
      header.U8(1).Uleb(DW_LNCT_path).Uleb(DW_FORM_string).Uleb(1).Text("/d");
      header.U8(1).Uleb(DW_LNCT_path).Uleb(DW_FORM_string).Uleb(1).Text("a.c");
    } else {
      header.U8(0).U8(0);
    }
    ByteWriter unit;
    unit.U16(version);
    if (version >= 5) unit.U8(8).U8(0);
    unit.U32(header.bytes().size()).Append(header.bytes()).Append(program.bytes());
    return ByteWriter().U32(unit.bytes().size()).Append(unit.bytes()).bytes();
  }
};

ByteWriter& SetAddress(ByteWriter& program, std::uint64_t address) {
  return program.U8(0).Uleb(9).U8(DW_LNE_set_address).U64(address);
}

ByteWriter& EndSequence(ByteWriter& program) { return program.U8(0).Uleb(1).U8(DW_LNE_end_sequence); }

// Rows as "1000:7" with the file behind a comma unless it is 1; the end of a sequence has no line.
std::string RowsOf(std::vector<std::uint8_t> section) {
  DwarfBuilder builder;
  builder.Section(".debug_line", std::move(section));
  ReadFile file(builder);
  std::ostringstream text;
  for (const LineRow& row : ReadLineRows(file.pool, file.unit().unit(), 0)) {
    text << (text.str().empty() ? "" : " ") << std::hex << row.address << std::dec << ':';
    if (row.line != 0) text << row.line;
    if (row.file > 1) text << ',' << row.file;
  }
  return text.str();
}

std::string Rows(const ByteWriter& program, const LineTable& table = {}) {
  return RowsOf(table.Bytes(program));
}

// A special opcode: `address` bytes and `line` lines on.
std::uint8_t Special(unsigned address, int line) {
  return static_cast<std::uint8_t>(13 + address * 14 + static_cast<unsigned>(line + 5));
}

TEST(LineRows, SpecialOpcodesAdvanceAddressAndLine) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 6)).U8(Special(4, -2)).U8(DW_LNS_advance_pc).Uleb(4);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:7 1004:5 1008:");
}

TEST(LineRows, EveryVersionIsRead) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 6)).U8(DW_LNS_advance_pc).Uleb(4);
  EndSequence(program);
  for (unsigned version = 2; version <= 5; ++version) {
    EXPECT_EQ(Rows(program, {.version = version}), "1000:7 1004:") << version;
  }
}

TEST(LineRows, StandardOpcodes) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(DW_LNS_advance_line).Sleb(99).U8(DW_LNS_set_file).Uleb(3).U8(DW_LNS_copy);
  program.U8(DW_LNS_const_add_pc).U8(DW_LNS_advance_line).Sleb(-50).U8(DW_LNS_copy);
  program.U8(DW_LNS_fixed_advance_pc).U16(0x100);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:100,3 1011:50,3 1111:");
}

TEST(LineRows, OpcodesWithoutMeaningAreSteppedOver) {
  ByteWriter program;
  SetAddress(program, 0x1000)
      .U8(DW_LNS_set_column)
      .Uleb(300)
      .U8(DW_LNS_negate_stmt)
      .U8(DW_LNS_set_isa)
      .Uleb(1);
  program.U8(0)
      .Uleb(3)
      .U8(DW_LNE_set_discriminator)
      .Uleb(200)
      .U8(Special(0, 6))
      .U8(DW_LNS_advance_pc)
      .Uleb(1);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:7 1001:");
}

TEST(LineRows, OfSeveralRowsAtOneAddressTheLastCounts) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 6)).U8(Special(0, 1)).U8(DW_LNS_advance_pc).Uleb(4);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:8 1004:");
}

TEST(LineRows, RowsThatRepeatTheLineAreOne) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 6)).U8(Special(4, 0)).U8(DW_LNS_advance_pc).Uleb(4);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:7 1008:");
}

TEST(LineRows, SequencesAreSorted) {
  ByteWriter program;
  SetAddress(program, 0x2000).U8(Special(0, 1)).U8(DW_LNS_advance_pc).Uleb(4);
  EndSequence(program);
  SetAddress(program, 0x1000).U8(Special(0, 2)).U8(DW_LNS_advance_pc).Uleb(4);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:3 1004: 2000:2 2004:");
}

TEST(LineRows, SequencesThatTouchHaveNoEndBetween) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 1)).U8(DW_LNS_advance_pc).Uleb(4);
  EndSequence(program);
  SetAddress(program, 0x1004).U8(Special(0, 2)).U8(DW_LNS_advance_pc).Uleb(4);
  EXPECT_EQ(Rows(EndSequence(program)), "1000:2 1004:3 1008:");
}

TEST(LineRows, DroppedCodeHasNone) {
  ByteWriter program;
  SetAddress(program, 0).U8(Special(0, 1)).U8(DW_LNS_advance_pc).Uleb(4);
  EndSequence(program);
  SetAddress(program, ~0ull).U8(Special(0, 1));
  EXPECT_EQ(Rows(EndSequence(program)), "");
}

TEST(LineRows, SequenceWithoutEndIsLeftOut) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 1)).U8(DW_LNS_advance_pc).Uleb(4);
  EndSequence(program);
  SetAddress(program, 0x2000).U8(Special(0, 2));
  EXPECT_EQ(Rows(program), "1000:2 1004:");
}

TEST(LineRows, AddressesThatFallEndTheProgram) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 1));
  SetAddress(program, 0x900).U8(Special(0, 1)).U8(DW_LNS_advance_pc).Uleb(4);
  EXPECT_EQ(Rows(EndSequence(program)), "");
}

TEST(LineRows, OperationsOfWideInstructionsCount) {
  ByteWriter program;
  SetAddress(program, 0x1000)
      .U8(Special(0, 1))
      .U8(Special(2, 1))
      .U8(Special(1, 1))
      .U8(DW_LNS_advance_pc)
      .Uleb(3);
  EXPECT_EQ(Rows(EndSequence(program), {.operations = 3}), "1000:3 1001:4 1002:");
}

TEST(LineRows, HeaderThatDividesByZeroIsDamage) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(0x40);
  EXPECT_EQ(Rows(EndSequence(program), {.line_range = 0}), "");
}

TEST(LineRows, UnknownVersionIsDamage) {
  ByteWriter program;
  EXPECT_EQ(Rows(EndSequence(program), {.version = 6}), "");
}

TEST(LineRows, AnyPrefixOfATableEndsInRows) {
  ByteWriter program;
  SetAddress(program, 0x1000).U8(Special(0, 6)).U8(Special(4, -2)).U8(DW_LNS_advance_pc).Uleb(4);
  const std::vector<std::uint8_t> whole = LineTable{.version = 5}.Bytes(EndSequence(program));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(RowsOf({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), "") << size;
  }
}

}  // namespace
}  // namespace linesmith
