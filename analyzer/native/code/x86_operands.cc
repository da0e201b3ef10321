// SPDX-License-Identifier: GPL-2.0-or-later

#include "code/x86_operands.h"

#include <algorithm>
#include <array>

#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

struct Names {
  x86_reg full, half, quarter, low, high;
};

// In the order of their DWARF numbers (x86-64 ABI, figure 3.36).
constexpr auto kNames = std::to_array<Names>({
    {X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
    {X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
    {X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
    {X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
    {X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
    {X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
    {X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_INVALID},
    {X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
    {X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
    {X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
    {X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_INVALID},
    {X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_INVALID},
    {X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_INVALID},
    {X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_INVALID},
    {X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_INVALID},
    {X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_INVALID},
});

constexpr std::array<X86Register, X86_REG_ENDING> MakeRegisters() {
  std::array<X86Register, X86_REG_ENDING> registers{};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const auto number = static_cast<RegisterNumber>(i);
    registers[kNames[i].full] = {number, 8};
    registers[kNames[i].half] = {number, 4};
    registers[kNames[i].quarter] = {number, 2};
    registers[kNames[i].low] = {number, 1};
    registers[kNames[i].high] = {number, 1};
  }
  registers[X86_REG_INVALID] = {};
  return registers;
}

constexpr std::array<X86Register, X86_REG_ENDING> kRegisters = MakeRegisters();

bool IsVector(unsigned name) {
  return (name >= X86_REG_XMM0 && name <= X86_REG_XMM31) || (name >= X86_REG_YMM0 && name <= X86_REG_YMM31) ||
         (name >= X86_REG_ZMM0 && name <= X86_REG_ZMM31);
}

Segment SegmentOf(const x86_op_mem& memory, bool kernel) {
  if (memory.segment == X86_REG_GS) return kernel ? Segment::kPerCpu : Segment::kThread;
  return memory.segment == X86_REG_FS ? Segment::kThread : Segment::kNone;
}

}  // namespace

X86Register GeneralRegister(unsigned name) {
  return name < kRegisters.size() ? kRegisters[name] : X86Register{};
}

X86Register RegisterOf(const cs_x86_op& operand) {
  return operand.type == X86_OP_REG ? GeneralRegister(operand.reg) : X86Register{};
}

Address AddressOf(const cs_insn& instruction, const x86_op_mem& memory, bool kernel) {
  Address address{.base = GeneralRegister(memory.base).number,
                  .index = GeneralRegister(memory.index).number,
                  .scale = static_cast<std::uint8_t>(memory.scale),
                  .segment = SegmentOf(memory, kernel),
                  .displacement = memory.disp};
  // A vector of indexes: the base once more, times a factor that is not known.
  if (memory.index != X86_REG_INVALID && address.index == kNoRegister && IsVector(memory.index)) {
    address.index = address.base;
    address.scale = 0;
  }
  if (memory.base == X86_REG_RIP || memory.base == X86_REG_EIP) {
    const std::uint64_t next = instruction.address + instruction.size;
    address.displacement = static_cast<std::int64_t>(next + static_cast<std::uint64_t>(memory.disp));
  }
  address.absolute = address.base == kNoRegister && address.index == kNoRegister;
  return address;
}

namespace {

constexpr std::size_t kLongest = 15;

// The opcode maps behind the escapes; those of EVEX go on to 5 and 6 (half-precision numbers).
constexpr unsigned kTwoBytes = 1;
constexpr unsigned kThreeBytes38 = 2;
constexpr unsigned kThreeBytes3a = 3;

bool IsPrefix(std::uint8_t byte) {
  switch (byte) {
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0x66:
    case 0x67:
    case 0xf0:
    case 0xf2:
    case 0xf3:
      return true;
    default:
      return false;
  }
}

bool IsRex(std::uint8_t byte) { return (byte & 0xf0) == 0x40; }

// Shifts and shuffles of the second map that end in a byte.
bool HasImmediate(unsigned map, std::uint8_t opcode) {
  if (map == kThreeBytes3a) return true;
  return map == kTwoBytes &&
         ((opcode >= 0x70 && opcode <= 0x73) || opcode == 0xc2 || (opcode >= 0xc4 && opcode <= 0xc6));
}

// Opcodes without a modrm byte are all known to capstone.
bool HasModRm(std::uint8_t opcode) {
  return opcode == 0x01 || opcode == 0x0d || (opcode >= 0x10 && opcode < 0x30) ||
         (opcode >= 0x40 && opcode < 0x77) || opcode == 0xae || opcode == 0xb9 || opcode >= 0xc2;
}

// Steps over modrm, sib and displacement; true for a memory operand.
bool SkipModRm(ByteCursor& cursor) {
  const std::uint8_t modrm = cursor.U8();
  const unsigned mode = modrm >> 6;
  if (mode == 3) return false;
  unsigned displacement = mode == 1 ? 1 : mode == 2 ? 4 : (modrm & 7) == 5 ? 4 : 0;
  if ((modrm & 7) == 4 && (cursor.U8() & 7) == 5 && mode == 0) displacement = 4;
  cursor.Skip(displacement);
  return true;
}

// The map that `escape` and what follows it lead to; 0 for none.
unsigned ReadMap(std::uint8_t escape, ByteCursor& cursor) {
  if (escape == 0x62) {
    const unsigned map = cursor.U8() & 7;
    cursor.Skip(2);
    return map;
  }
  if (escape == 0xc4) {
    const unsigned map = cursor.U8() & 0x1f;
    cursor.Skip(1);
    return map;
  }
  if (escape == 0xc5) cursor.Skip(1);
  return escape == 0xc5 || escape == 0x0f ? kTwoBytes : 0;
}

UnknownX86 Measure(ByteCursor cursor) {
  const std::uint8_t* start = cursor.position();
  std::uint8_t escape = cursor.U8();
  while (IsPrefix(escape)) escape = cursor.U8();
  if (IsRex(escape)) escape = cursor.U8();
  const bool legacy = escape == 0x0f;
  unsigned map = ReadMap(escape, cursor);
  std::uint8_t opcode = cursor.U8();
  if (legacy && (opcode == 0x38 || opcode == 0x3a)) {
    map = opcode == 0x38 ? kThreeBytes38 : kThreeBytes3a;
    opcode = cursor.U8();
  }
  if (map == 0 || map > 6 || (legacy && map == kTwoBytes && !HasModRm(opcode))) throw Truncated();
  UnknownX86 found;
  found.is_system = legacy && map == kTwoBytes && (opcode == 0x01 || opcode == 0xae);
  found.touches_memory = SkipModRm(cursor);
  if (HasImmediate(map, opcode)) cursor.Skip(1);
  found.length = static_cast<std::uint8_t>(cursor.position() - start);
  return found;
}

}  // namespace

std::optional<UnknownX86> MeasureX86(Bytes code) {
  try {
    return Measure(ByteCursor(code.first(std::min(code.size(), kLongest)), true));
  } catch (const Truncated&) {
    return std::nullopt;
  }
}

}  // namespace linesmith
