// SPDX-License-Identifier: GPL-2.0-or-later
// What DWARF says of one function: its ranges, where its variables and those of inlined code are, whom it
// calls.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "type_graph.h"

namespace linesmith {

// Addresses [low, high).
struct AddressRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

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

// A row of a line table: from `address` on, until the next row.
struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t file = 0;  // as DW_AT_decl_file counts; 0 with line 0 ends a sequence
  std::uint32_t line = 0;
};

// All of one unit. Location lists are cut at 100,000 entries, expressions that cannot be followed (computed
// values, damage) leave no place.
struct UnitFacts {
  std::vector<FunctionFacts> functions;
  std::vector<GlobalVariable> globals;
  std::vector<LineRow> lines;  // ascending by address
};

// Reads the facts of `unit` into types of `graph`; damage in a function ends that function only.
UnitFacts ReadUnitFacts(UnitContext& unit, TypeGraph& graph);

// What a call of the function at an address gives back, as far as any unit knows: collected before inference.
struct KnownFunction {
  std::string_view name;
  TypeId result = kVoid;
};

}  // namespace linesmith
