// SPDX-License-Identifier: GPL-2.0-or-later
// Relocations of relocatable objects (.o, .ko): of debug sections and data here, of instructions in
// code_relocation.h.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <span>

#include "elf/symbol_table.h"

namespace linesmith {

// The section that a table of relocations is about; `bytes` are changed.
struct RelocatedSection {
  std::uint16_t machine = 0;
  bool little_endian = true;
  std::uint64_t place = 0;
  std::span<std::uint8_t> bytes;
};

// Applies the SHT_RELA or SHT_REL section `table`, with symbols where SymbolTable puts them. Types that no
// reader needs are left alone. False when the table, its symbols or an offset is damaged.
bool ApplyRelocations(Elf* elf, const ElfSection& table, const SymbolTable& symbols,
                      const RelocatedSection& section);

}  // namespace linesmith
