// SPDX-License-Identifier: GPL-2.0-or-later
#include "function_symbols.h"

#include <cstring>

#include "byte_cursor.h"

namespace linesmith {
namespace {

struct Symbol {
  std::uint32_t name = 0;
  std::uint8_t info = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
};

Symbol ReadSymbol(ByteCursor& cursor, unsigned address_bytes) {
  Symbol symbol{.name = cursor.U32()};
  const auto flags = [&] {
    symbol.info = cursor.U8();
    cursor.Skip(1);
    symbol.section = cursor.U16();
  };
  if (address_bytes == 8) flags();
  symbol.value = cursor.Unsigned(address_bytes);
  symbol.size = cursor.Unsigned(address_bytes);
  if (address_bytes == 4) flags();
  return symbol;
}

const ElfSection* FindTable(const ElfFile& elf) {
  for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const ElfSection& section : elf.sections()) {
      if (section.type == type) return &section;
    }
  }
  return nullptr;
}

// Section indexes above 16 bits (SHN_XINDEX) stand in a table beside the symbols.
Bytes LargeIndexes(ElfFile& elf, const ElfSection& table) {
  for (const ElfSection& section : elf.sections()) {
    if (section.type == SHT_SYMTAB_SHNDX && section.link == table.index) return elf.Section(section);
  }
  return {};
}

std::string_view NameAt(Bytes names, std::uint64_t offset) {
  if (offset >= names.size()) return {};
  const char* start = reinterpret_cast<const char*>(names.data() + offset);
  return {start, strnlen(start, names.size() - offset)};
}

std::size_t SectionOf(const Symbol& symbol, Bytes large, std::size_t number, bool little_endian) {
  if (symbol.section != SHN_XINDEX) return symbol.section < SHN_LORESERVE ? symbol.section : SHN_UNDEF;
  if (number >= large.size() / 4) return SHN_UNDEF;
  return ByteCursor(large.subspan(number * 4, 4), little_endian).U32();
}

}  // namespace

std::vector<FunctionSymbol> ReadFunctionSymbols(ElfFile& elf) {
  const ElfSection* table = FindTable(elf);
  if (table == nullptr || table->link == 0 || table->link > elf.sections().size()) return {};
  const Bytes names = elf.Section(elf.sections()[table->link - 1]);
  const Bytes large = LargeIndexes(elf, *table);
  const ElfHeader& header = elf.header();
  ByteCursor cursor(elf.Section(*table), header.little_endian);
  const std::size_t count =
      cursor.left() / (header.address_bytes == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
  std::vector<FunctionSymbol> functions;
  for (std::size_t number = 0; number < count; ++number) {
    const Symbol symbol = ReadSymbol(cursor, header.address_bytes);
    if (ELF64_ST_TYPE(symbol.info) != STT_FUNC || symbol.size == 0) continue;
    const std::size_t index = SectionOf(symbol, large, number, header.little_endian);
    if (index == SHN_UNDEF || index > elf.sections().size()) continue;
    const std::uint64_t start = header.type == ET_REL ? 0 : elf.sections()[index - 1].address;
    if (symbol.value < start) continue;
    functions.push_back({.name = NameAt(names, symbol.name),
                         .section = index,
                         .offset = symbol.value - start,
                         .size = symbol.size});
  }
  return functions;
}

}  // namespace linesmith
