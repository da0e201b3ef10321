// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: any bytes as the expressions, lists, ranges and line programs of a sound unit, or as a whole
// file whose functions are read. Anything but a clean result or an Error is a finding.
#include <cstddef>
#include <cstdint>

#include "../dwarf_builder.h"
#include "base/error.h"
#include "program/location_list.h"
#include "program/unit_addresses.h"
#include "program/unit_summary.h"

namespace linesmith {
namespace {

// One unit with a function and a variable whose place is the list at the beginning of `bytes`.
void ReadBuilt(const std::vector<std::uint8_t>& bytes, unsigned version) {
  DwarfBuilder builder(
      version, {Offset(DW_AT_addr_base, 8), Offset(DW_AT_stmt_list, 0), Offset(DW_AT_rnglists_base, 0),
                Offset(DW_AT_loclists_base, 0), Address(DW_AT_low_pc, 0x1000)});
  const auto integer = builder.Int();
  builder.Function("listed", 0x1000, 0x100);
  builder.Variable("list", integer, Offset(DW_AT_location, 0));
  builder.Variable("list behind a header", integer, Offset(DW_AT_location, 12));
  builder.Variable("indexed", integer, Index(DW_AT_location, DW_FORM_loclistx, 0));
  builder.Variable("placed", integer, Expression(bytes));
  builder.Close();
  builder.Open(DW_TAG_subprogram,
               {Name("ranges"), Offset(DW_AT_ranges, 0), Expression(bytes, DW_AT_frame_base)});
  builder.Variable("based", integer, Expression({DW_OP_fbreg, 0}));
  builder.Close();
  builder.Open(DW_TAG_subprogram, {Name("indexed ranges"), Index(DW_AT_ranges, DW_FORM_rnglistx, 0)});
  builder.Close();
  for (const char* section :
       {".debug_addr", ".debug_loc", ".debug_loclists", ".debug_ranges", ".debug_rnglists", ".debug_line"}) {
    builder.Section(section, bytes);
  }
  ReadFile file(builder);
  file.facts();
  ReadUnitSummary(file.unit(), file.pool);
}

// Any file: its functions, and every member of every type that they use.
void ReadWhole(const std::vector<std::uint8_t>& bytes) {
  ReadFile file(bytes);
  for (std::size_t i = 0; i < file.info->units.size(); ++i) {
    file.facts(i);
    ReadUnitSummary(file.unit(i), file.pool);
    for (TypeId type = 0; type < file.graph.size() && type < 5'000; ++type) {
      file.graph.Leaf(type, i, 8);
      file.graph.Holds(type, 8, 1);
    }
    file.pool.Trim();
  }
}

}  // namespace
}  // namespace linesmith

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<std::uint8_t> bytes(data + 1, data + size);
  try {
    if (data[0] == ELFMAG0) {
      linesmith::ReadWhole({data, data + size});
    } else {
      linesmith::ReadBuilt(bytes, 2 + data[0] % 4);
    }
  } catch (const linesmith::Error&) {
  }
  return 0;
}
