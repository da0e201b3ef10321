// SPDX-License-Identifier: GPL-2.0-or-later
// What DWARF says of one function: its ranges, where its variables and those of inlined code are, whom it
// calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "program/address_range.h"
#include "program/line_rows.h"
#include "program/location_expression.h"
#include "types/type_graph.h"

namespace linesmith {

// Where a variable, or the piece of it that begins at byte `piece_offset`, is while the program counter is in
// `range` (before the instruction there runs).
struct VariablePlace {
  AddressRange range;
  PlaceKind kind = PlaceKind::kRegister;
  std::uint8_t reg = 0xff;
  TypeId type = kVoid;  // of the whole variable
  std::uint32_t piece_offset = 0;
  std::uint32_t piece_bytes = 0;  // 0: no piece, the whole variable
  std::int64_t offset = 0;
  std::uint32_t inline_depth =
      0;  // 0: of the function itself; deeper ones know more about what is pointed to
};

// Inlined code; `parent` is the position of the inline that it is in, -1 for the function itself.
struct InlinedCall {
  std::string_view name;
  std::vector<AddressRange> ranges;
  std::int32_t parent = -1;
  TypeId result = kVoid;
  std::uint32_t call_file = 0;  // as DW_AT_decl_file counts
  std::uint32_t call_line = 0;
};

struct FunctionFacts {
  std::string_view name;
  std::vector<AddressRange> ranges;   // the first one holds the entry; cold parts follow
  std::vector<VariablePlace> places;  // by ascending range.low
  std::vector<InlinedCall> inlined;   // outer ones before inner ones
  std::vector<TypeId> parameters;     // in order
  TypeId result = kVoid;
};

// A variable with static storage, for loads through its address.
struct GlobalVariable {
  std::string_view name;
  std::uint64_t address = 0;  // of a thread's or CPU's variable: its offset there
  TypeId type = kVoid;
  bool thread_local_storage = false;
};

// All of one unit. Expressions that cannot be followed (computed values, damage) leave no place.
struct UnitFacts {
  std::vector<FunctionFacts> functions;
  std::vector<GlobalVariable> globals;
  std::vector<TypeId> inlined_results;    // of functions that are inlined somewhere, with or without a trace
  std::vector<LineRow> lines;             // ascending by address, one for each address
  const LineFiles* line_files = nullptr;  // what LineRow::file counts in; goes with the unit
};

// Reads the facts of `unit` into types of `graph`, which from now on sees declared records as this unit does.
// Damage in a function ends that function only, damage outside of functions the unit: what was read before
// stays. Throws Error("ElfError") for a damaged section.
UnitFacts ReadUnitFacts(UnitContext& unit, TypeGraph& graph);

}  // namespace linesmith
