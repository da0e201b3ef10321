// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf_relocation.h"

#include <elf.h>
#include <gelf.h>

#include <array>
#include <cstring>

#include "elf_file.h"

namespace linesmith {
namespace {

enum class Operation : std::uint8_t { kStore, kAdd, kSubtract };

struct RelocationRule {
  std::uint16_t machine;
  std::uint32_t type;
  std::uint8_t bytes;
  Operation operation = Operation::kStore;
};

// The absolute relocations of each processor's ELF supplement, as assemblers emit them into debug sections.
constexpr auto kRules = std::to_array<RelocationRule>({
    {EM_X86_64, R_X86_64_64, 8},
    {EM_X86_64, R_X86_64_32, 4},
    {EM_X86_64, R_X86_64_32S, 4},
    {EM_386, R_386_32, 4},
    {EM_AARCH64, R_AARCH64_ABS64, 8},
    {EM_AARCH64, R_AARCH64_ABS32, 4},
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

struct Relocation {
  std::uint64_t offset = 0;
  std::uint64_t symbol_value = 0;
  std::uint32_t type = 0;
  std::uint64_t addend = 0;
  bool addend_in_place = false;
};

void Apply(const Relocation& relocation, const RelocationRule& rule, bool little_endian,
           std::vector<std::uint8_t>& bytes) {
  std::uint8_t* place = bytes.data() + relocation.offset;
  const std::uint64_t current = Load(place, rule.bytes, little_endian);
  std::uint64_t value = relocation.symbol_value + (relocation.addend_in_place ? current : relocation.addend);
  if (rule.operation == Operation::kAdd) value = current + value;
  if (rule.operation == Operation::kSubtract) value = current - value;
  Store(place, rule.bytes, little_endian, value);
}

}  // namespace

bool ApplyRelocations(Elf* elf, const ElfSection& table, const ElfHeader& header,
                      std::vector<std::uint8_t>& bytes) {
  Elf_Data* entries = elf_getdata(elf_getscn(elf, table.index), nullptr);
  Elf_Scn* symbol_section = elf_getscn(elf, table.link);
  Elf_Data* symbols = symbol_section != nullptr ? elf_getdata(symbol_section, nullptr) : nullptr;
  if (entries == nullptr || symbols == nullptr || symbols->d_type != ELF_T_SYM) return false;
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
    const auto type = static_cast<std::uint32_t>(GELF_R_TYPE(entry.r_info));
    const RelocationRule* rule = FindRule(header.machine, type);
    if (rule == nullptr) continue;
    GElf_Sym symbol;
    if (gelf_getsym(symbols, static_cast<int>(GELF_R_SYM(entry.r_info)), &symbol) == nullptr) return false;
    if (bytes.size() < rule->bytes || entry.r_offset > bytes.size() - rule->bytes) return false;
    Apply({.offset = entry.r_offset,
           .symbol_value = symbol.st_value,
           .type = type,
           .addend = static_cast<std::uint64_t>(entry.r_addend),
           .addend_in_place = !with_addend},
          *rule, header.little_endian, bytes);
  }
  return true;
}

}  // namespace linesmith
