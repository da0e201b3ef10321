// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/x86_operands.h"

#include <array>

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

}  // namespace linesmith
