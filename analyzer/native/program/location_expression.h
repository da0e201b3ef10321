// SPDX-License-Identifier: GPL-2.0-or-later
// What a DWARF expression says of a variable's place, as far as that is a register, a sum with one, or fixed
// (DWARF 5, 2.5 and 2.6).
#pragma once

#include <cstdint>
#include <vector>

#include "program/unit_addresses.h"

namespace linesmith {

enum class PlaceKind : std::uint8_t {
  kRegister,       // the value is in the register
  kRegisterValue,  // the value is register + offset (DW_OP_bregN, DW_OP_stack_value): an address, often of a
                   // member
  kMemory,         // the value is in memory at register + offset
  kFrame,          // the value is in memory at the frame address (CFA) + offset
  kFrameValue,     // the value is the frame address + offset
  kEntryValue,     // the value is what the register was at entry (DW_OP_entry_value, DW_OP_stack_value), +
                   // offset
  kGlobal,         // the value is in memory at address `offset` (DW_OP_addr, DW_OP_addrx)
  kGlobalValue,    // the value is the address `offset`
  kThreadLocal,    // `offset` bytes into the thread's (or, in a kernel, a CPU's) block
};

// The place of a variable, or of the piece of it that begins at byte `piece_offset`.
struct ExpressionPlace {
  PlaceKind kind = PlaceKind::kRegister;
  std::uint8_t reg = 0xff;
  std::int64_t offset = 0;
  std::uint32_t piece_offset = 0;
  std::uint32_t piece_bytes = 0;  // 0: no piece, the whole variable
};

// Whether this is the place of a variable that exists once, or once for each thread.
inline bool IsStatic(const ExpressionPlace& place) {
  return place.piece_bytes == 0 &&
         (place.kind == PlaceKind::kGlobal || place.kind == PlaceKind::kThreadLocal);
}

// What a value on the expression's stack is relative to.
enum class ValueBase : std::uint8_t { kUnknown, kNumber, kRegister, kFrame, kEntry, kAddress, kThread };

// A number, or a sum of a number and something only known at run time.
struct ExpressionValue {
  ValueBase base = ValueBase::kUnknown;
  std::uint8_t reg = 0xff;
  std::int64_t offset = 0;
};

// What DW_OP_fbreg adds to; the frame base of the function (DW_AT_frame_base).
ExpressionValue ReadFrameBase(Bytes expression, const UnitAddresses& addresses);

// Appends the places that `expression` names; what is computed otherwise, or damaged, has none.
void ReadExpression(Bytes expression, const UnitAddresses& addresses, const ExpressionValue& frame_base,
                    std::vector<ExpressionPlace>& places);

}  // namespace linesmith
