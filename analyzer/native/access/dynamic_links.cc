// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/dynamic_links.h"

#include <elf.h>

#include <algorithm>
#include <map>

#include "access/machine_code.h"
#include "byte_cursor.h"
#include "symbol_table.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kStubBytes = 16;
constexpr std::uint64_t kEntryBytes = 24;  // Elf64_Rela
// Tables of stubs are small: more than this is no such table.
constexpr std::uint64_t kMostStubBytes = 16 << 20;

enum class LinkKind : std::uint8_t { kOther, kSymbol, kOwn };

LinkKind KindOf(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) {
    if (type == R_X86_64_GLOB_DAT || type == R_X86_64_JUMP_SLOT) return LinkKind::kSymbol;
    return type == R_X86_64_RELATIVE ? LinkKind::kOwn : LinkKind::kOther;
  }
  if (type == R_AARCH64_GLOB_DAT || type == R_AARCH64_JUMP_SLOT) return LinkKind::kSymbol;
  return type == R_AARCH64_RELATIVE ? LinkKind::kOwn : LinkKind::kOther;
}

class LinkReader {
 public:
  LinkReader(ElfFile& elf, const ImageSections& sections) : elf_(elf), sections_(sections) {}

  DynamicLinks Read();

 private:
  void ReadTable(const ElfSection& table);
  void FindStubs(const ImageSection& section, InstructionDecoder& decoder);
  void AddStub(std::uint64_t slot, std::uint64_t address);

  ElfFile& elf_;
  const ImageSections& sections_;
  std::map<std::uint64_t, std::string_view> names_;  // by the word that leads there
  DynamicLinks links_;
};

void LinkReader::ReadTable(const ElfSection& table) {
  if (table.link == 0 || table.link > elf_.sections().size()) return;
  const ElfSection& symbol_section = elf_.sections()[table.link - 1];
  const bool known = symbol_section.type == SHT_DYNSYM || symbol_section.type == SHT_SYMTAB;
  const SymbolTable symbols = known ? ReadSymbolTable(elf_, symbol_section) : SymbolTable{};
  ByteCursor cursor(elf_.FileBytes(table), elf_.header().little_endian);
  while (cursor.left() >= kEntryBytes) {
    const std::uint64_t word = cursor.U64();
    const std::uint64_t info = cursor.U64();
    const std::uint64_t addend = cursor.U64();
    const LinkKind kind = KindOf(elf_.header().machine, static_cast<std::uint32_t>(info));
    if (kind == LinkKind::kOther) continue;
    if (kind == LinkKind::kOwn) {
      links_.words.emplace_back(word, addend);
    } else if (info >> 32 < symbols.symbols.size()) {
      const ElfSymbol& symbol = symbols.symbols[info >> 32];
      names_[word] = symbol.name;
      if (symbol.section != SHN_UNDEF) links_.words.emplace_back(word, symbol.address);
    }
  }
}

void LinkReader::AddStub(std::uint64_t slot, std::uint64_t address) {
  const auto name = names_.find(slot);
  if (name != names_.end()) links_.stubs.push_back({name->second, address, kStubBytes});
}

// x86-64: `jmp *word(%rip)`, perhaps behind endbr64. arm64: adrp, ldr, add, br, perhaps behind bti.
void LinkReader::FindStubs(const ImageSection& section, InstructionDecoder& decoder) {
  if (section.bytes.size() > kMostStubBytes) return;
  std::vector<Instruction> code;
  decoder.Decode({.address = section.range.low, .bytes = section.bytes}, code);
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code[i];
    if (instruction.use_count == 0) continue;
    const Address& from = instruction.uses[0].address;
    const auto displacement = static_cast<std::uint64_t>(from.displacement);
    if (instruction.flow == Flow::kIndirectJump && from.absolute) {
      AddStub(displacement, instruction.address / 8 * 8);
    } else if (i > 0 && code[i - 1].effect == Effect::kConstant && code[i - 1].target == from.base) {
      const bool marked = i > 1 && code[i - 2].effect == Effect::kNone && code[i - 2].flow == Flow::kNext;
      AddStub(static_cast<std::uint64_t>(code[i - 1].constant) + displacement,
              code[i - (marked ? 2 : 1)].address);
    }
  }
}

DynamicLinks LinkReader::Read() {
  for (const ElfSection& section : elf_.sections()) {
    if (section.type == SHT_RELA && (section.flags & SHF_ALLOC) != 0) ReadTable(section);
  }
  const auto decoder = MakeInstructionDecoder(elf_.header().machine, false);
  for (const ImageSection& section : sections_.sections()) {
    if (section.code && section.name.starts_with(".plt")) FindStubs(section, *decoder);
  }
  std::ranges::sort(links_.words);
  return std::move(links_);
}

}  // namespace

DynamicLinks ReadDynamicLinks(ElfFile& elf, const ImageSections& sections) {
  const ElfHeader& header = elf.header();
  const bool known = header.machine == EM_X86_64 || header.machine == EM_AARCH64;
  if (!known || header.address_bytes != 8 || header.type == ET_REL) return {};
  return LinkReader(elf, sections).Read();
}

}  // namespace linesmith
