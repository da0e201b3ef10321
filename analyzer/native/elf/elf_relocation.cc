// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_relocation.h"

#include <elf.h>
#include <gelf.h>

#include <array>

#include "elf/code_relocation.h"

namespace linesmith {
namespace {

enum class Operation : std::uint8_t { kStore, kAdd, kSubtract, kRelative };

struct RelocationRule {
  std::uint16_t machine;
  std::uint32_t type;
  std::uint8_t bytes;
  Operation operation = Operation::kStore;
};

// The relocations of each processor's ELF supplement that are plain numbers, as assemblers emit them into
// debug sections, data and (x86-64) code.
constexpr auto kRules = std::to_array<RelocationRule>({
    {EM_X86_64, R_X86_64_64, 8},
    {EM_X86_64, R_X86_64_32, 4},
    {EM_X86_64, R_X86_64_32S, 4},
    {EM_X86_64, R_X86_64_16, 2},
    {EM_X86_64, R_X86_64_8, 1},
    {EM_X86_64, R_X86_64_DTPOFF64, 8},
    {EM_X86_64, R_X86_64_DTPOFF32, 4},
    {EM_X86_64, R_X86_64_PC64, 8, Operation::kRelative},
    {EM_X86_64, R_X86_64_PC32, 4, Operation::kRelative},
    {EM_X86_64, R_X86_64_PLT32, 4, Operation::kRelative},
    {EM_X86_64, R_X86_64_PC16, 2, Operation::kRelative},
    {EM_X86_64, R_X86_64_PC8, 1, Operation::kRelative},
    {EM_386, R_386_32, 4},
    {EM_AARCH64, R_AARCH64_ABS64, 8},
    {EM_AARCH64, R_AARCH64_ABS32, 4},
    {EM_AARCH64, R_AARCH64_PREL64, 8, Operation::kRelative},
    {EM_AARCH64, R_AARCH64_PREL32, 4, Operation::kRelative},
    {EM_ARM, R_ARM_ABS32, 4},
    {EM_PPC64, R_PPC64_ADDR64, 8},
    {EM_PPC64, R_PPC64_ADDR32, 4},
    {EM_PPC, R_PPC_ADDR32, 4},
    {EM_S390, R_390_64, 8},
    {EM_S390, R_390_32, 4},
    {EM_MIPS, R_MIPS_32, 4},
    {EM_MIPS, R_MIPS_64, 8},
    {EM_SPARCV9, R_SPARC_UA64, 8},
    {EM_SPARCV9, R_SPARC_UA32, 4},
    {EM_SPARC, R_SPARC_UA32, 4},
    {EM_PARISC, R_PARISC_DIR32, 4},
    {EM_68K, R_68K_32, 4},
    {EM_SH, R_SH_DIR32, 4},
    {EM_RISCV, R_RISCV_32, 4},
    {EM_RISCV, R_RISCV_64, 8},
    {EM_RISCV, R_RISCV_ADD8, 1, Operation::kAdd},
    {EM_RISCV, R_RISCV_ADD16, 2, Operation::kAdd},
    {EM_RISCV, R_RISCV_ADD32, 4, Operation::kAdd},
    {EM_RISCV, R_RISCV_ADD64, 8, Operation::kAdd},
    {EM_RISCV, R_RISCV_SUB8, 1, Operation::kSubtract},
    {EM_RISCV, R_RISCV_SUB16, 2, Operation::kSubtract},
    {EM_RISCV, R_RISCV_SUB32, 4, Operation::kSubtract},
    {EM_RISCV, R_RISCV_SUB64, 8, Operation::kSubtract},
    // Type numbers of the LoongArch supplement; older elf.h lacks the names.
    {258, 1, 4},
    {258, 2, 8},
    {258, 50, 4, Operation::kAdd},
    {258, 51, 8, Operation::kAdd},
    {258, 55, 4, Operation::kSubtract},
    {258, 56, 8, Operation::kSubtract},
});

const RelocationRule* FindRule(std::uint16_t machine, std::uint32_t type) {
  for (const RelocationRule& rule : kRules) {
    if (rule.machine == machine && rule.type == type) return &rule;
  }
  return nullptr;
}

std::uint64_t Load(const std::uint8_t* place, unsigned count, bool little_endian) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < count; ++i) value = value << 8 | place[little_endian ? count - 1 - i : i];
  return value;
}

void Store(std::uint8_t* place, unsigned count, bool little_endian, std::uint64_t value) {
  for (unsigned i = 0; i < count; ++i) {
    place[little_endian ? i : count - 1 - i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
}

void Apply(const CodeRelocation& relocation, const RelocationRule& rule, bool addend_in_place,
           const RelocatedSection& section) {
  std::uint8_t* field = section.bytes.data() + relocation.offset;
  const std::uint64_t current = Load(field, rule.bytes, section.little_endian);
  std::uint64_t value = addend_in_place ? relocation.value + current : relocation.value;
  if (rule.operation == Operation::kAdd) value = current + value;
  if (rule.operation == Operation::kSubtract) value = current - value;
  if (rule.operation == Operation::kRelative) value -= section.place + relocation.offset;
  Store(field, rule.bytes, section.little_endian, value);
}

bool ApplyOne(const GElf_Rela& entry, bool addend_in_place, const SymbolTable& symbols,
              const RelocatedSection& section) {
  const auto type = static_cast<std::uint32_t>(GELF_R_TYPE(entry.r_info));
  const std::size_t number = GELF_R_SYM(entry.r_info);
  const RelocationRule* rule = FindRule(section.machine, type);
  if (rule == nullptr && !IsCodeRelocation(section.machine, type)) return true;
  const std::size_t bytes = rule != nullptr ? rule->bytes : kCodeRelocationBytes;
  if (number >= symbols.symbols.size()) return false;
  if (section.bytes.size() < bytes || entry.r_offset > section.bytes.size() - bytes) return false;
  const ElfSymbol& symbol = symbols.symbols[number];
  const CodeRelocation relocation{
      .type = type,
      .offset = entry.r_offset,
      .value = symbol.address + static_cast<std::uint64_t>(entry.r_addend),
      .thread_bytes = symbols.thread_bytes,
  };
  if (rule != nullptr) {
    Apply(relocation, *rule, addend_in_place, section);
  } else {
    ApplyCodeRelocation(relocation, section);
  }
  return true;
}

}  // namespace

bool ApplyRelocations(Elf* elf, const ElfSection& table, const SymbolTable& symbols,
                      const RelocatedSection& section) {
  Elf_Data* entries = elf_getdata(elf_getscn(elf, table.index), nullptr);
  if (entries == nullptr) return false;
  const bool with_addend = table.type == SHT_RELA;
  const std::size_t entry_bytes = gelf_fsize(elf, with_addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
  const std::size_t count = entries->d_size / entry_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Rela entry{};
    GElf_Rel plain{};
    if (with_addend ? gelf_getrela(entries, static_cast<int>(i), &entry) == nullptr
                    : gelf_getrel(entries, static_cast<int>(i), &plain) == nullptr) {
      return false;
    }
    if (!with_addend) entry = {.r_offset = plain.r_offset, .r_info = plain.r_info, .r_addend = 0};
    if (!ApplyOne(entry, !with_addend, symbols, section)) return false;
  }
  return true;
}

}  // namespace linesmith
