// SPDX-License-Identifier: GPL-2.0-or-later
// The rows of a line number program (DWARF 5, 6.2), run in full.
#pragma once

#include <cstdint>
#include <vector>

#include "dwarf/unit_pool.h"

namespace linesmith {

// A row of a line table: from `address` on, until the next row.
struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t file = 0;  // as DW_AT_decl_file counts; 0 with line 0 ends a sequence
  std::uint32_t line = 0;
};

// The rows of the program at `offset` of the unit's .debug_line, ascending by address; of several at one
// address the last one, which is the one that covers code. Rows in front of any damage are kept.
std::vector<LineRow> ReadLineRows(UnitPool& pool, const Unit& unit, std::uint64_t offset);

}  // namespace linesmith
