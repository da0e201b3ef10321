// SPDX-License-Identifier: GPL-2.0-or-later
// Symbol tables of ELF files (System V ABI, "Symbol Table"), and where symbols of relocatable files lie.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"

namespace linesmith {

// SHN_ABS, SHN_COMMON and the like are numbers of sections in large files: they are told by this sum.
constexpr std::size_t kSpecialSections = std::size_t{1} << 32;

struct ElfSymbol {
  std::string_view name;  // lives as long as the file
  std::uint8_t type = 0;  // STT_FUNC, ...
  std::uint8_t binding = 0;
  std::size_t section = 0;  // index in the file, SHN_UNDEF, or a special one
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  // Where the program sees it. Thread-local ones: their offset into the thread's block. In relocatable files:
  // where the layout of ElfFile puts it; undefined and common symbols follow the last section, `room` bytes
  // apart.
  std::uint64_t address = 0;
};

struct SymbolTable {
  std::vector<ElfSymbol> symbols;
  std::uint64_t room = 0;          // bytes for each undefined or common symbol; 0 in linked files
  std::uint64_t thread_bytes = 0;  // size of a thread's block
};

// .symtab, or .dynsym when there is none; null when there is neither.
const ElfSection* FindSymbolTable(const ElfFile& elf);

// All entries of `table` in order. Throws Error("ElfError") when the table is cut off.
SymbolTable ReadSymbolTable(const ElfFile& elf, const ElfSection& table);

// The functions of an ELF file by its symbol table (System V ABI, "Symbol Table").

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
