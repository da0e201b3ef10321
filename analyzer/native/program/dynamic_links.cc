// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/dynamic_links.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <map>

#include "code/machine_code.h"
#include "elf/byte_cursor.h"
#include "elf/symbol_table.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kStubBytes = 16;
constexpr std::uint64_t kEntryBytes = 24;  // Elf64_Rela
constexpr std::uint64_t kWordBytes = 8;
// Tables of stubs are small: more than this is no such table.
constexpr std::uint64_t kMostStubBytes = 16 << 20;

constexpr std::uint64_t kRoom = 0x1000;

enum class LinkKind : std::uint8_t { kOther, kSymbol, kOwn, kThread };

struct LinkRule {
  std::uint16_t machine;
  std::uint32_t type;
  LinkKind kind;
  ThreadLink thread = ThreadLink::kOffset;
};

constexpr auto kRules = std::to_array<LinkRule>({
    {EM_X86_64, R_X86_64_GLOB_DAT, LinkKind::kSymbol},
    {EM_X86_64, R_X86_64_JUMP_SLOT, LinkKind::kSymbol},
    {EM_X86_64, R_X86_64_RELATIVE, LinkKind::kOwn},
    {EM_X86_64, R_X86_64_TPOFF64, LinkKind::kThread},
    {EM_X86_64, R_X86_64_DTPMOD64, LinkKind::kThread, ThreadLink::kModule},
    {EM_AARCH64, R_AARCH64_GLOB_DAT, LinkKind::kSymbol},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, LinkKind::kSymbol},
    {EM_AARCH64, R_AARCH64_RELATIVE, LinkKind::kOwn},
    {EM_AARCH64, R_AARCH64_TLS_TPREL, LinkKind::kThread},
    {EM_AARCH64, R_AARCH64_TLS_DTPMOD, LinkKind::kThread, ThreadLink::kModule},
    {EM_AARCH64, R_AARCH64_TLSDESC, LinkKind::kThread, ThreadLink::kDescriptor},
});

LinkRule RuleOf(std::uint16_t machine, std::uint32_t type) {
  const auto found = std::ranges::find_if(
      kRules, [&](const LinkRule& rule) { return rule.machine == machine && rule.type == type; });
  return found != kRules.end() ? *found : LinkRule{machine, type, LinkKind::kOther};
}

std::uint64_t EndOf(const ImageSections& sections) {
  std::uint64_t end = 0;
  for (const ImageSection& section : sections.sections()) end = std::max(end, section.range.high);
  return (end / kRoom + 1) * kRoom;
}

// An entry of .rela.dyn or .rela.plt.
struct Link {
  std::uint64_t word = 0;
  std::uint64_t symbol = 0;
  std::uint64_t addend = 0;
  LinkRule rule;
};

class LinkReader {
 public:
  LinkReader(ElfFile& elf, const ImageSections& sections)
      : elf_(elf), sections_(sections), next_(EndOf(sections)) {}

  DynamicLinks Read();

 private:
  void ReadTable(const ElfSection& table);
  void FindStubs(const ImageSection& section, InstructionDecoder& decoder);
  void AddStub(std::uint64_t slot, std::uint64_t address);
  void Add(const Link& link, const ElfSymbol* symbol);
  void AddThreadSlot(const Link& link, const ElfSymbol* symbol);
  std::uint64_t PlaceOf(std::string_view name);
  void PreferStubs();

  ElfFile& elf_;
  const ImageSections& sections_;
  std::uint64_t next_;                               // where the next one of another file gets its place
  std::map<std::uint64_t, std::string_view> names_;  // by the word that leads there
  std::map<std::string_view, std::uint64_t> foreign_;
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
    const Link link{.word = word,
                    .symbol = info >> 32,
                    .addend = cursor.U64(),
                    .rule = RuleOf(elf_.header().machine, static_cast<std::uint32_t>(info))};
    const bool named = link.symbol != 0 && link.symbol < symbols.symbols.size();
    Add(link, named ? &symbols.symbols[link.symbol] : nullptr);
  }
}

void LinkReader::Add(const Link& link, const ElfSymbol* symbol) {
  const bool own = symbol != nullptr && symbol->section != SHN_UNDEF;
  switch (link.rule.kind) {
    case LinkKind::kOther:
      return;
    case LinkKind::kOwn:
      links_.words.emplace_back(link.word, link.addend);
      return;
    case LinkKind::kThread:
      AddThreadSlot(link, symbol);
      return;
    case LinkKind::kSymbol:
      if (symbol == nullptr) return;
      names_[link.word] = symbol->name;
      links_.words.emplace_back(link.word, own ? symbol->address : PlaceOf(symbol->name));
      return;
  }
}

// A module's slot is followed by the offset: another entry fills it in, or it stands there.
void LinkReader::AddThreadSlot(const Link& link, const ElfSymbol* symbol) {
  std::uint64_t offset = link.addend;
  if (symbol != nullptr) {
    offset += symbol->section != SHN_UNDEF ? symbol->address : PlaceOf(symbol->name);
  }
  if (link.rule.thread == ThreadLink::kModule && symbol == nullptr) {
    const Bytes next = sections_.At(link.word + kWordBytes);
    offset = next.size() >= kWordBytes ? ByteCursor(next, elf_.header().little_endian).U64() : 0;
  }
  links_.thread_slots.push_back({link.word, offset, link.rule.thread});
}

std::uint64_t LinkReader::PlaceOf(std::string_view name) {
  const auto [place, fresh] = foreign_.try_emplace(name, next_);
  if (!fresh) return place->second;
  links_.foreign.push_back({name, next_, kRoom});
  next_ += kRoom;
  return place->second;
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
      const bool marked = i > 1 && code[i - 1].address % kStubBytes != 0 &&
                          code[i - 2].effect == Effect::kNone && code[i - 2].flow == Flow::kNext;
      AddStub(static_cast<std::uint64_t>(code[i - 1].constant) + displacement,
              code[i - (marked ? 2 : 1)].address);
    }
  }
}

// A function that has a stub is known by its address.
void LinkReader::PreferStubs() {
  std::map<std::uint64_t, std::uint64_t> stubs;
  for (const LinkStub& stub : links_.stubs) {
    const auto foreign = foreign_.find(stub.name);
    if (foreign != foreign_.end()) stubs.try_emplace(foreign->second, stub.address);
  }
  for (auto& [word, address] : links_.words) {
    if (const auto stub = stubs.find(address); stub != stubs.end()) address = stub->second;
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
  PreferStubs();
  std::ranges::sort(links_.words);
  std::ranges::stable_sort(links_.thread_slots, {}, &ThreadSlot::address);
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
