// SPDX-License-Identifier: GPL-2.0-or-later
// The functions of an ELF file by its symbol table (System V ABI, "Symbol Table").
#pragma once

#include <string>
#include <vector>

#include "elf_file.h"

namespace linesmith {

// One defined STT_FUNC symbol with a size.
struct FunctionSymbol {
  std::string_view name;     // lives as long as the file
  std::size_t section = 0;   // index in the file
  std::uint64_t offset = 0;  // in that section
  std::uint64_t size = 0;
};

// In the order of .symtab (of .dynsym when there is none); empty when there is neither.
// Throws Error("ElfError") when the table is cut off.
std::vector<FunctionSymbol> ReadFunctionSymbols(ElfFile& elf);

}  // namespace linesmith
