// SPDX-License-Identifier: GPL-2.0-or-later
// Which places the expressions that compilers write, and those that none does, are read as.
#include "program/location_expression.h"

#include <gtest/gtest.h>

#include <sstream>

#include "dwarf_builder.h"

namespace linesmith {
namespace {

const char* NameOf(PlaceKind kind) {
  static const char* const kNames[] = {"register", "register value", "memory",
                                       "frame",    "frame value",    "entry value",
                                       "global",   "value",          "thread local"};
  return kNames[static_cast<unsigned>(kind)];
}

// The places in words: "register 5", "memory 7+16", "frame -24 (8 bytes at 0)".
std::string Places(const std::vector<std::uint8_t>& expression, ExpressionValue frame_base = {}) {
  DwarfBuilder builder(5, {Offset(DW_AT_addr_base, 8)});
  builder.Section(".debug_addr", ByteWriter().U64(0).U64(0x1000).U64(0x2000).bytes());
  ReadFile file(builder);
  const UnitAddresses addresses(file.pool, file.unit());
  std::vector<ExpressionPlace> places;
  ReadExpression(expression, addresses, frame_base, places);
  std::ostringstream text;
  for (const ExpressionPlace& place : places) {
    text << (text.str().empty() ? "" : ", ") << NameOf(place.kind);
    if (place.reg != 0xff) text << ' ' << static_cast<unsigned>(place.reg);
    if (place.offset != 0) text << std::showpos << place.offset << std::noshowpos;
    if (place.piece_bytes != 0) text << " (" << place.piece_bytes << " at " << place.piece_offset << ')';
  }
  return text.str();
}

TEST(LocationExpression, RegisterHoldsTheVariable) { EXPECT_EQ(Places({DW_OP_reg5}), "register 5"); }

TEST(LocationExpression, RegisterByNumberHoldsTheVariable) {
  EXPECT_EQ(Places({DW_OP_regx, 40}), "register 40");
}

TEST(LocationExpression, BaseRegisterIsMemory) { EXPECT_EQ(Places({DW_OP_breg7, 16}), "memory 7+16"); }

TEST(LocationExpression, BaseRegisterByNumberIsMemory) {
  EXPECT_EQ(Places({DW_OP_bregx, 7, 0x70}), "memory 7-16");
}

TEST(LocationExpression, StackValueOfABaseRegisterIsTheSum) {
  EXPECT_EQ(Places({DW_OP_breg3, 0x08, DW_OP_stack_value}), "register value 3+8");
}

TEST(LocationExpression, FrameBaseIsTheFrameAddress) {
  EXPECT_EQ(Places({DW_OP_fbreg, 0x68}, {ValueBase::kFrame, 0xff, 0}), "frame-24");
}

TEST(LocationExpression, FrameBaseOfClangIsARegister) {
  EXPECT_EQ(Places({DW_OP_fbreg, 0x68}, {ValueBase::kRegister, 6, 0}), "memory 6-24");
}

TEST(LocationExpression, FrameBaseUnknownLeavesNoPlace) { EXPECT_EQ(Places({DW_OP_fbreg, 0x68}), ""); }

TEST(LocationExpression, AddressOfALocalIsAFrameValue) {
  EXPECT_EQ(Places({DW_OP_fbreg, 0x40, DW_OP_stack_value}, {ValueBase::kFrame, 0xff, 0}), "frame value-64");
}

TEST(LocationExpression, EntryValueIsWhatTheRegisterWas) {
  EXPECT_EQ(Places({DW_OP_entry_value, 1, DW_OP_reg5, DW_OP_stack_value}), "entry value 5");
}

TEST(LocationExpression, GnuEntryValueIsTheSame) {
  EXPECT_EQ(Places({DW_OP_GNU_entry_value, 1, DW_OP_reg5, DW_OP_stack_value}), "entry value 5");
}

TEST(LocationExpression, EntryValueAndConstantAddUp) {
  EXPECT_EQ(Places({DW_OP_entry_value, 1, DW_OP_reg5, DW_OP_plus_uconst, 40, DW_OP_stack_value}),
            "entry value 5+40");
}

TEST(LocationExpression, EntryValueOfMemoryIsNotFollowed) {
  EXPECT_EQ(Places({DW_OP_entry_value, 3, DW_OP_breg7, 8, DW_OP_deref, DW_OP_stack_value}), "");
}

TEST(LocationExpression, MemoryAtAnEntryValueHasNoPlace) {
  EXPECT_EQ(Places({DW_OP_entry_value, 1, DW_OP_reg5}), "");
}

TEST(LocationExpression, EntryValueLongerThanTheExpressionIsDamage) {
  EXPECT_EQ(Places({DW_OP_entry_value, 90, DW_OP_reg5}), "");
}

TEST(LocationExpression, AddressIsAGlobal) {
  EXPECT_EQ(Places(ByteWriter().U8(DW_OP_addr).U64(4096).bytes()), "global+4096");
}

TEST(LocationExpression, AddressAndConstantAddUp) {
  EXPECT_EQ(Places(ByteWriter().U8(DW_OP_addr).U64(4096).U8(DW_OP_plus_uconst).U8(4).bytes()), "global+4100");
}

TEST(LocationExpression, AddressValueIsAPointerToAGlobal) {
  EXPECT_EQ(Places(ByteWriter().U8(DW_OP_addr).U64(4096).U8(DW_OP_stack_value).bytes()), "value+4096");
}

TEST(LocationExpression, IndexedAddressComesFromTheTable) {
  EXPECT_EQ(Places({DW_OP_addrx, 1}), "global+8192");
}

TEST(LocationExpression, IndexBehindTheAddressTableHasNoPlace) { EXPECT_EQ(Places({DW_OP_addrx, 2}), ""); }

TEST(LocationExpression, ThreadLocalIsAnOffset) {
  EXPECT_EQ(Places({DW_OP_const4u, 0x30, 0, 0, 0, DW_OP_form_tls_address}), "thread local+48");
  EXPECT_EQ(Places({DW_OP_const8u, 0x30, 0, 0, 0, 0, 0, 0, 0, DW_OP_GNU_push_tls_address}),
            "thread local+48");
}

TEST(LocationExpression, NumberIsNoPlace) {
  EXPECT_EQ(Places({DW_OP_lit3, DW_OP_stack_value}), "");
  EXPECT_EQ(Places({DW_OP_implicit_value, 2, 7, 0}), "");
}

TEST(LocationExpression, ImplicitPointerHasNoPlace) {
  EXPECT_EQ(Places({DW_OP_implicit_pointer, 0x20, 0, 0, 0, 0}), "");
}

TEST(LocationExpression, PiecesLieBehindEachOther) {
  EXPECT_EQ(Places({DW_OP_reg0, DW_OP_piece, 8, DW_OP_reg1, DW_OP_piece, 8}),
            "register 0 (8 at 0), register 1 (8 at 8)");
}

TEST(LocationExpression, PieceWithoutAPlaceStillCounts) {
  EXPECT_EQ(Places({DW_OP_piece, 8, DW_OP_reg1, DW_OP_piece, 8}), "register 1 (8 at 8)");
}

TEST(LocationExpression, PieceBesideAComputedOneIsKept) {
  EXPECT_EQ(Places({DW_OP_breg0, 0, DW_OP_lit1, DW_OP_shl, DW_OP_stack_value, DW_OP_piece, 8, DW_OP_reg1,
                    DW_OP_piece, 8}),
            "register 1 (8 at 8)");
}

TEST(LocationExpression, BitPieceOfWholeBytesIsAPiece) {
  EXPECT_EQ(Places({DW_OP_reg2, DW_OP_bit_piece, 32, 0}), "register 2 (4 at 0)");
}

TEST(LocationExpression, BitPieceOfSingleBitsHasNoPlace) {
  EXPECT_EQ(Places({DW_OP_reg2, DW_OP_bit_piece, 3, 0}), "");
}

TEST(LocationExpression, DifferenceWithAConstantIsFollowed) {
  EXPECT_EQ(Places({DW_OP_breg0, 0, DW_OP_const1u, 24, DW_OP_minus, DW_OP_stack_value}),
            "register value 0-24");
}

TEST(LocationExpression, SumOfTwoRegistersIsNotFollowed) {
  EXPECT_EQ(Places({DW_OP_breg0, 0, DW_OP_breg1, 0, DW_OP_plus, DW_OP_stack_value}), "");
}

TEST(LocationExpression, DereferencedPointerIsNotFollowed) {
  EXPECT_EQ(Places({DW_OP_breg0, 0, DW_OP_deref}), "");
}

TEST(LocationExpression, UnknownOperationLeavesNoPlace) { EXPECT_EQ(Places({DW_OP_reg0, 0xe9}), ""); }

TEST(LocationExpression, CutOffOperandLeavesNoPlace) {
  EXPECT_EQ(Places({DW_OP_addr, 1, 2, 3}), "");
  EXPECT_EQ(Places({DW_OP_breg7, 0x80}), "");
}

TEST(LocationExpression, EmptyStackIsDamage) { EXPECT_EQ(Places({DW_OP_plus}), ""); }

TEST(LocationExpression, EmptyExpressionIsOptimisedOut) { EXPECT_EQ(Places({}), ""); }

TEST(LocationExpression, DeepStackIsNotFollowed) {
  EXPECT_EQ(Places(std::vector<std::uint8_t>(1000, DW_OP_lit0)), "");
}

TEST(LocationExpression, JumpsAreNotFollowed) {
  EXPECT_EQ(Places({DW_OP_breg0, 0, DW_OP_skip, 0xfd, 0xff}), "");
}

TEST(LocationExpression, FrameBaseOfARegisterIsWhatItHolds) {
  DwarfBuilder builder;
  ReadFile file(builder);
  const std::vector<std::uint8_t> expression{DW_OP_reg6};
  const ExpressionValue value = ReadFrameBase(expression, UnitAddresses(file.pool, file.unit()));
  EXPECT_EQ(value.base, ValueBase::kRegister);
  EXPECT_EQ(value.reg, 6);
}

}  // namespace
}  // namespace linesmith
