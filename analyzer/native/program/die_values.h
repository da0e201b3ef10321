// SPDX-License-Identifier: GPL-2.0-or-later
// A DIE's attributes with their forms: those say whether a number is an address, an index, a length or a
// list.
#pragma once

#include <cstdint>

#include "dwarf/unit_pool.h"

namespace linesmith {

struct DieValues {
  Attributes attributes;
  std::uint16_t forms[kSlotCount];
  Bytes location;    // the expression of DW_AT_location, where that is no list
  Bytes frame_base;  // the same of DW_AT_frame_base

  bool Has(Slot slot) const { return attributes.Has(slot); }
  std::uint64_t Get(Slot slot, std::uint64_t absent = 0) const { return attributes.Get(slot, absent); }
  const char* Text(Slot slot) const { return attributes.Text(slot); }
  std::uint16_t Form(Slot slot) const { return forms[static_cast<unsigned>(slot)]; }
};

// Decodes the wanted attributes; the cursor moves from the attributes to behind them.
void ReadValues(const UnitContext& unit, const Abbreviation& abbreviation, ByteCursor& cursor,
                DieValues& values);

// The DIE that completes another one: its abstract instance, or its declaration. Null without one.
DieRef OriginOf(UnitPool& pool, UnitContext& unit, const DieValues& values);

// What a function or variable is called and which type it has, here or where it was first declared.
struct Declared {
  const char* name = "";
  UnitContext* type_unit = nullptr;  // null: `void`
  std::uint64_t type_offset = 0;     // a decoded reference of `type_unit`
  bool never_returns = false;        // of a function: DW_AT_noreturn
};

// Follows origins from `die` for as long as anything is missing, a fixed number of steps at most.
Declared DeclaredAt(UnitPool& pool, DieRef die);

}  // namespace linesmith
