// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/x86_access.h"

#include <optional>

namespace linesmith {
namespace {

// capstone 4 calls many writes reads; nothing where it is right.
std::optional<std::uint8_t> CorrectedAccess(unsigned id) {
  if (SavesExtendedState(id) || (id >= X86_INS_SETAE && id <= X86_INS_SETS)) return CS_AC_WRITE;
  switch (id) {
    case X86_INS_BT:
    case X86_INS_CALL:
    case X86_INS_CMP:
    case X86_INS_CMPSB:
    case X86_INS_CMPSD:
    case X86_INS_CMPSQ:
    case X86_INS_CMPSW:
    case X86_INS_DIV:
    case X86_INS_FRSTOR:
    case X86_INS_FXRSTOR:
    case X86_INS_FXRSTOR64:
    case X86_INS_IDIV:
    case X86_INS_JMP:
    case X86_INS_LGDT:
    case X86_INS_LIDT:
    case X86_INS_MUL:
    case X86_INS_PUSH:
    case X86_INS_TEST:
    case X86_INS_XRSTOR:
    case X86_INS_XRSTOR64:
      return CS_AC_READ;
    case X86_INS_FIST:
    case X86_INS_FISTP:
    case X86_INS_FISTTP:
    case X86_INS_FNSAVE:
    case X86_INS_FNSTCW:
    case X86_INS_FNSTENV:
    case X86_INS_FNSTSW:
    case X86_INS_FST:
    case X86_INS_FSTP:
    case X86_INS_FXSAVE:
    case X86_INS_FXSAVE64:
    case X86_INS_POP:
    case X86_INS_SGDT:
    case X86_INS_SIDT:
    case X86_INS_SLDT:
    case X86_INS_STMXCSR:
    case X86_INS_STR:
    case X86_INS_VSTMXCSR:
      return CS_AC_WRITE;
    case X86_INS_CMPXCHG:
    case X86_INS_CMPXCHG8B:
    case X86_INS_CMPXCHG16B:
    case X86_INS_RCL:
    case X86_INS_RCR:
    case X86_INS_ROL:
    case X86_INS_ROR:
    case X86_INS_XADD:
    case X86_INS_XCHG:
      return kReadWriteAccess;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool SavesExtendedState(unsigned id) {
  switch (id) {
    case X86_INS_XSAVE:
    case X86_INS_XSAVE64:
    case X86_INS_XSAVEC:
    case X86_INS_XSAVEC64:
    case X86_INS_XSAVEOPT:
    case X86_INS_XSAVEOPT64:
    case X86_INS_XSAVES:
    case X86_INS_XSAVES64:
      return true;
    default:
      return false;
  }
}

bool TakesOnlyAnAddress(unsigned id) {
  switch (id) {
    case X86_INS_LEA:
    case X86_INS_NOP:
    case X86_INS_PREFETCH:
    case X86_INS_PREFETCHNTA:
    case X86_INS_PREFETCHT0:
    case X86_INS_PREFETCHT1:
    case X86_INS_PREFETCHT2:
    case X86_INS_PREFETCHW:
    case X86_INS_CLFLUSH:
    case X86_INS_CLFLUSHOPT:
    case X86_INS_CLWB:
    case X86_INS_INVLPG:
      return true;
    default:
      return false;
  }
}

bool IsStringInstruction(const cs_insn& instruction) {
  const std::uint8_t first = instruction.detail->x86.opcode[0];
  if (instruction.detail->x86.modrm != 0) return false;
  return (first >= 0x6c && first <= 0x6f) || (first >= 0xa4 && first <= 0xa7) ||
         (first >= 0xaa && first <= 0xaf);
}

// Of several operands the first one is the destination (Intel's order): a store, if the memory is there and
// no flag says that it is also read. Vector stores are marked as reads.
std::uint8_t MemoryAccessOf(const cs_insn& instruction, std::size_t position) {
  const cs_x86& detail = instruction.detail->x86;
  if (const std::optional<std::uint8_t> access = CorrectedAccess(instruction.id)) return *access;
  if (position > 0) return CS_AC_READ;
  const std::uint8_t access = detail.operands[0].access;
  if (detail.op_count > 1 && access != kReadWriteAccess) return CS_AC_WRITE;
  return access;
}

bool IsAtomic(const cs_insn& instruction) {
  return instruction.detail->x86.prefix[0] == X86_PREFIX_LOCK || instruction.id == X86_INS_XCHG;
}

}  // namespace linesmith
