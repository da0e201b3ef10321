// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/code_relocation.h"

#include <elf.h>

#include <array>

namespace linesmith {
namespace {

// How a value gets into the 32 bits of an arm64 instruction.
enum class From : std::uint8_t { kValue, kPlace, kPage, kThread };

struct FieldRule {
  std::uint32_t type;
  From from;
  std::uint8_t shift;  // of the value, to the right
  std::uint8_t bits;
  std::uint8_t position;
};

constexpr std::uint8_t kAdrField = 0xff;  // the 21 bits of adr and adrp, split over two fields
constexpr std::uint64_t kPage = 0x1000;
// The thread pointer of arm64 leads to two words of the runtime, its block follows.
constexpr std::uint64_t kThreadHeader = 16;

constexpr auto kArm64Fields = std::to_array<FieldRule>({
    {R_AARCH64_MOVW_UABS_G0, From::kValue, 0, 16, 5},
    {R_AARCH64_MOVW_UABS_G0_NC, From::kValue, 0, 16, 5},
    {R_AARCH64_MOVW_UABS_G1, From::kValue, 16, 16, 5},
    {R_AARCH64_MOVW_UABS_G1_NC, From::kValue, 16, 16, 5},
    {R_AARCH64_MOVW_UABS_G2, From::kValue, 32, 16, 5},
    {R_AARCH64_MOVW_UABS_G2_NC, From::kValue, 32, 16, 5},
    {R_AARCH64_MOVW_UABS_G3, From::kValue, 48, 16, 5},
    {R_AARCH64_LD_PREL_LO19, From::kPlace, 2, 19, 5},
    {R_AARCH64_ADR_PREL_LO21, From::kPlace, 0, 21, kAdrField},
    {R_AARCH64_ADR_PREL_PG_HI21, From::kPage, 12, 21, kAdrField},
    {R_AARCH64_ADR_PREL_PG_HI21_NC, From::kPage, 12, 21, kAdrField},
    {R_AARCH64_ADR_GOT_PAGE, From::kPage, 12, 21, kAdrField},
    {R_AARCH64_ADD_ABS_LO12_NC, From::kValue, 0, 12, 10},
    {R_AARCH64_LDST8_ABS_LO12_NC, From::kValue, 0, 12, 10},
    {R_AARCH64_LDST16_ABS_LO12_NC, From::kValue, 1, 11, 10},
    {R_AARCH64_LDST32_ABS_LO12_NC, From::kValue, 2, 10, 10},
    {R_AARCH64_LDST64_ABS_LO12_NC, From::kValue, 3, 9, 10},
    {R_AARCH64_LDST128_ABS_LO12_NC, From::kValue, 4, 8, 10},
    {R_AARCH64_LD64_GOT_LO12_NC, From::kValue, 0, 12, 10},
    {R_AARCH64_TSTBR14, From::kPlace, 2, 14, 5},
    {R_AARCH64_CONDBR19, From::kPlace, 2, 19, 5},
    {R_AARCH64_JUMP26, From::kPlace, 2, 26, 0},
    {R_AARCH64_CALL26, From::kPlace, 2, 26, 0},
    {R_AARCH64_TLSLE_ADD_TPREL_HI12, From::kThread, 12, 12, 10},
    {R_AARCH64_TLSLE_ADD_TPREL_LO12, From::kThread, 0, 12, 10},
    {R_AARCH64_TLSLE_ADD_TPREL_LO12_NC, From::kThread, 0, 12, 10},
});

const FieldRule* FindField(std::uint32_t type) {
  for (const FieldRule& rule : kArm64Fields) {
    if (rule.type == type) return &rule;
  }
  return nullptr;
}

std::uint32_t LoadWord(const std::uint8_t* field) {
  return field[0] | field[1] << 8 | field[2] << 16 | static_cast<std::uint32_t>(field[3]) << 24;
}

void StoreWord(std::uint8_t* field, std::uint64_t word) {
  for (unsigned i = 0; i < 4; ++i) field[i] = static_cast<std::uint8_t>(word >> (8 * i));
}

std::uint64_t FieldValue(From from, std::uint64_t value, std::uint64_t place) {
  switch (from) {
    case From::kPlace:
      return value - place;
    case From::kPage:
      return value / kPage * kPage - place / kPage * kPage;
    case From::kThread:
      return value + kThreadHeader;
    case From::kValue:
      break;
  }
  return value;
}

std::uint32_t WithBits(std::uint32_t word, std::uint64_t value, unsigned position, unsigned bits) {
  const std::uint32_t mask = ((1u << bits) - 1) << position;
  return (word & ~mask) | (static_cast<std::uint32_t>(value << position) & mask);
}

void ApplyArm64(const CodeRelocation& relocation, const FieldRule& rule, const RelocatedSection& section) {
  std::uint8_t* field = section.bytes.data() + relocation.offset;
  std::uint32_t word = LoadWord(field);
  const std::uint64_t value =
      FieldValue(rule.from, relocation.value, section.place + relocation.offset) >> rule.shift;
  // What loads an address from the global offset table computes it instead: ldr becomes add.
  if (rule.type == R_AARCH64_LD64_GOT_LO12_NC) word = 0x91000000 | (word & 0x3ff);
  word = rule.position == kAdrField ? WithBits(WithBits(word, value, 29, 2), value >> 2, 5, 19)
                                    : WithBits(word, value, rule.position, rule.bits);
  StoreWord(field, word);
}

// As linkers do where the symbol is their own: mov of a slot becomes lea, call and jmp become direct.
bool RelaxX86(std::uint8_t* opcode) {
  if (opcode[0] == 0x8b) {
    opcode[0] = 0x8d;
    return true;
  }
  if (opcode[0] != 0xff || (opcode[1] != 0x15 && opcode[1] != 0x25)) return false;
  opcode[1] = opcode[1] == 0x15 ? 0xe8 : 0xe9;
  opcode[0] = 0x2e;  // a prefix without effect
  return true;
}

constexpr std::uint8_t kRexW = 0x48;
constexpr std::uint8_t kRexR = 0x04;
constexpr std::uint8_t kRexB = 0x01;

// What loads, or adds, a variable's distance from the thread pointer gets it as an immediate instead.
bool RelaxThreadLoad(std::uint8_t* rex) {
  const std::uint8_t opcode = rex[1];
  if ((rex[0] & ~kRexR) != kRexW || (opcode != 0x8b && opcode != 0x03)) return false;
  rex[0] = kRexW | ((rex[0] & kRexR) != 0 ? kRexB : 0);
  rex[1] = opcode == 0x8b ? 0xc7 : 0x81;
  rex[2] = 0xc0 | (rex[2] >> 3 & 7);
  return true;
}

void ApplyX86(const CodeRelocation& relocation, const RelocatedSection& section) {
  std::uint8_t* field = section.bytes.data() + relocation.offset;
  if (relocation.type == R_X86_64_TPOFF32)
    return StoreWord(field, relocation.value - relocation.thread_bytes);
  if (relocation.type == R_X86_64_GOTTPOFF) {
    // The addend counts from behind the field.
    if (relocation.offset < 3 || !RelaxThreadLoad(field - 3)) return;
    return StoreWord(field, relocation.value + kCodeRelocationBytes - relocation.thread_bytes);
  }
  if (relocation.offset >= 2 && RelaxX86(field - 2)) {
    StoreWord(field, relocation.value - section.place - relocation.offset);
  }
}

bool IsX86(std::uint32_t type) {
  return type == R_X86_64_TPOFF32 || type == R_X86_64_GOTTPOFF || type == R_X86_64_GOTPCREL ||
         type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

}  // namespace

bool IsCodeRelocation(std::uint16_t machine, std::uint32_t type) {
  if (machine == EM_X86_64) return IsX86(type);
  return machine == EM_AARCH64 && FindField(type) != nullptr;
}

void ApplyCodeRelocation(const CodeRelocation& relocation, const RelocatedSection& section) {
  if (section.machine == EM_X86_64) return ApplyX86(relocation, section);
  if (const FieldRule* rule = FindField(relocation.type)) ApplyArm64(relocation, *rule, section);
}

}  // namespace linesmith
