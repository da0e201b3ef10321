// SPDX-License-Identifier: GPL-2.0-or-later
// The tables by which Linux finds code that it replaces, faults that it expects, and traps that return.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "elf/symbol_table.h"
#include "program/image_sections.h"

namespace linesmith {

struct PatchedCode {
  std::vector<AddressRange> ranges;  // ascending, apart from each other
  // Instructions and where control may go from them beside what they say, ascending.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> side_exits;
  std::vector<std::uint64_t> warnings;  // traps that return, ascending
};

// `symbols`: linked kernels keep some tables between symbols instead of in sections of their own.
PatchedCode ReadPatchedCode(const ImageSections& sections, std::uint16_t machine,
                            const std::vector<ElfSymbol>& symbols);

}  // namespace linesmith
