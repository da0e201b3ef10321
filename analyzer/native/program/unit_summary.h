// SPDX-License-Identifier: GPL-2.0-or-later
// The functions and variables of a unit that other units may call and use, without their bodies.
#pragma once

#include <cstdint>
#include <vector>

#include "dwarf/unit_pool.h"

namespace linesmith {

// A DW_AT_type that any worker can read: TypeGraph::Of(pool.Open(*unit), reference). Null `unit`: `void`.
struct TypeReference {
  const Unit* unit = nullptr;
  std::uint64_t reference = 0;
};

// A function; `name` lives as long as the file.
struct SummaryFunction {
  const char* name = "";
  std::uint64_t address = 0;  // of its entry; 0 where it is only declared
  TypeReference result;
  bool never_returns = false;  // DW_AT_noreturn
};

// A variable with static storage, those inside functions included.
struct SummaryVariable {
  const char* name = "";
  std::uint64_t address = 0;  // of a thread's variable: its offset in the thread's block
  TypeReference type;
  bool thread_local_storage = false;
};

struct UnitSummary {
  std::vector<SummaryFunction> functions;
  std::vector<SummaryVariable> variables;
  // What the unit only declares, without addresses: other units or files define it. By the names of linkers.
  std::vector<SummaryFunction> declared_functions;
  std::vector<SummaryVariable> declared_variables;
  // Variables outside of functions whose place DWARF does not tell: gone, or (gcc for arm64) a thread's.
  std::vector<SummaryVariable> unplaced_variables;
};

// Damage ends the reading; what was read before stays. Throws Error("ElfError") for a damaged section.
UnitSummary ReadUnitSummary(UnitContext& unit, UnitPool& pool);

}  // namespace linesmith
