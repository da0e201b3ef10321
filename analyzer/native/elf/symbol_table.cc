// SPDX-License-Identifier: GPL-2.0-or-later

#include "elf/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kMostRoom = 0x10000;
constexpr std::uint64_t kSectionAlignment = 0x1000;
// Calls of arm64 reach 128 MiB; half of it is for other files' symbols.
constexpr std::uint64_t kReach = 64 << 20;

// Section indexes above 16 bits (SHN_XINDEX) stand in a table beside the symbols.
Bytes LargeIndexes(const ElfFile& elf, const ElfSection& table) {
  for (const ElfSection& section : elf.sections()) {
    if (section.type == SHT_SYMTAB_SHNDX && section.link == table.index) return elf.FileBytes(section);
  }
  return {};
}

std::string_view NameAt(Bytes names, std::uint64_t offset) {
  if (offset >= names.size()) return {};
  const char* start = reinterpret_cast<const char*>(names.data() + offset);
  return {start, strnlen(start, names.size() - offset)};
}

class SymbolReader {
 public:
  SymbolReader(const ElfFile& elf, const ElfSection& table)
      : names_(elf.FileBytes(elf.sections()[table.link - 1])),
        large_(LargeIndexes(elf, table)),
        cursor_(elf.FileBytes(table), elf.header().little_endian),
        little_endian_(elf.header().little_endian),
        address_bytes_(elf.header().address_bytes) {}

  std::size_t count() const {
    return cursor_.left() / (address_bytes_ == 8 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym));
  }
  ElfSymbol Read(std::size_t number);

 private:
  std::size_t SectionOf(std::uint16_t index, std::size_t number) const;

  Bytes names_;
  Bytes large_;
  ByteCursor cursor_;
  bool little_endian_;
  unsigned address_bytes_;
};

std::size_t SymbolReader::SectionOf(std::uint16_t index, std::size_t number) const {
  if (index != SHN_XINDEX) return index < SHN_LORESERVE ? index : kSpecialSections + index;
  if (number >= large_.size() / 4) return SHN_UNDEF;
  return ByteCursor(large_.subspan(number * 4, 4), little_endian_).U32();
}

ElfSymbol SymbolReader::Read(std::size_t number) {
  ElfSymbol symbol{.name = NameAt(names_, cursor_.U32())};
  const auto flags = [&] {
    const std::uint8_t info = cursor_.U8();
    symbol.type = ELF64_ST_TYPE(info);
    symbol.binding = ELF64_ST_BIND(info);
    cursor_.Skip(1);
    symbol.section = SectionOf(cursor_.U16(), number);
  };
  if (address_bytes_ == 8) flags();
  symbol.value = cursor_.Unsigned(address_bytes_);
  symbol.size = cursor_.Unsigned(address_bytes_);
  if (address_bytes_ == 4) flags();
  symbol.address = symbol.value;
  return symbol;
}

bool IsElsewhere(const ElfSymbol& symbol) {
  return symbol.section == kSpecialSections + SHN_COMMON ||
         (symbol.section == SHN_UNDEF && !symbol.name.empty());
}

std::uint64_t EndOfSections(const ElfFile& elf) {
  std::uint64_t end = kRelocatableBase;
  for (const ElfSection& section : elf.sections()) {
    if (section.place != 0) end = std::max(end, section.place + section.size);
  }
  return (end + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

std::uint64_t RoomForEach(std::uint64_t count) {
  std::uint64_t room = kMostRoom;
  while (room > kSectionAlignment && room * count > kReach) room /= 2;
  return room;
}

// Where each section lies in a thread's block, .tdata before .tbss; its place in memory for the others. The
// last one is the end of the block.
std::vector<std::uint64_t> StartsOfSections(const ElfFile& elf) {
  std::vector<std::uint64_t> starts(elf.sections().size() + 2);
  for (const ElfSection& section : elf.sections()) starts[section.index] = section.place;
  std::uint64_t offset = 0;
  for (const bool zeroed : {false, true}) {
    for (const ElfSection& section : elf.sections()) {
      if ((section.flags & SHF_TLS) == 0 || (section.type == SHT_NOBITS) != zeroed) continue;
      starts[section.index] = offset;
      offset += section.size;
    }
  }
  starts.back() = offset;
  return starts;
}

void PlaceSymbols(const ElfFile& elf, SymbolTable& table) {
  table.room = RoomForEach(static_cast<std::uint64_t>(std::ranges::count_if(table.symbols, IsElsewhere)));
  const std::vector<std::uint64_t> starts = StartsOfSections(elf);
  table.thread_bytes = starts.back();
  std::uint64_t next = EndOfSections(elf);
  for (ElfSymbol& symbol : table.symbols) {
    if (IsElsewhere(symbol)) {
      symbol.address = next;
      next += table.room;
    } else if (symbol.section + 1 < starts.size()) {
      symbol.address = symbol.value + starts[symbol.section];
    }
  }
}

}  // namespace

const ElfSection* FindSymbolTable(const ElfFile& elf) {
  for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
    for (const ElfSection& section : elf.sections()) {
      if (section.type == type) return &section;
    }
  }
  return nullptr;
}

SymbolTable ReadSymbolTable(const ElfFile& elf, const ElfSection& table) {
  SymbolTable result;
  if (table.link == 0 || table.link > elf.sections().size()) return result;
  SymbolReader reader(elf, table);
  const std::size_t count = reader.count();
  result.symbols.reserve(count);
  for (std::size_t number = 0; number < count; ++number) result.symbols.push_back(reader.Read(number));
  if (elf.header().type == ET_REL) PlaceSymbols(elf, result);
  return result;
}

std::vector<FunctionSymbol> ReadFunctionSymbols(ElfFile& elf) {
  const ElfSection* table = FindSymbolTable(elf);
  if (table == nullptr) return {};
  std::vector<FunctionSymbol> functions;
  for (const ElfSymbol& symbol : ReadSymbolTable(elf, *table).symbols) {
    if (symbol.type != STT_FUNC || symbol.size == 0) continue;
    if (symbol.section == SHN_UNDEF || symbol.section > elf.sections().size()) continue;
    const std::uint64_t start = elf.sections()[symbol.section - 1].address;
    if (symbol.value < start) continue;
    functions.push_back({.name = symbol.name,
                         .section = symbol.section,
                         .offset = symbol.value - start,
                         .size = symbol.size});
  }
  return functions;
}

}  // namespace linesmith
