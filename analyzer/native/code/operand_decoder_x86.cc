// SPDX-License-Identifier: GPL-2.0-or-later
#include <capstone/capstone.h>

#include <algorithm>
#include <new>

#include "code/operand_decoder.h"
#include "code/x86_access.h"

namespace linesmith {
namespace {

// A capstone handle and the one instruction that it decodes into.
class Disassembler {
 public:
  Disassembler() {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::bad_alloc();
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    instruction_ = cs_malloc(handle_);
    if (instruction_ == nullptr) {
      cs_close(&handle_);
      throw std::bad_alloc();
    }
  }
  ~Disassembler() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  Disassembler(const Disassembler&) = delete;
  Disassembler& operator=(const Disassembler&) = delete;

  // Calls `visit` with each instruction; its address is the offset in `code`. A byte that starts no
  // instruction is stepped over, as objdump does.
  template <typename Visit>
  void ForEach(Bytes code, Visit visit) {
    const std::uint8_t* position = code.data();
    std::size_t left = code.size();
    std::uint64_t offset = 0;
    while (left > 0) {
      if (cs_disasm_iter(handle_, &position, &left, &offset, instruction_)) {
        visit(*instruction_);
        continue;
      }
      ++position;
      ++offset;
      --left;
    }
  }

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

bool IsRegister(const cs_x86_op& operand, x86_reg name) {
  return operand.type == X86_OP_REG && operand.reg == name;
}

bool IsPush(const cs_insn& instruction, x86_reg name) {
  const cs_x86& detail = instruction.detail->x86;
  return instruction.id == X86_INS_PUSH && detail.op_count == 1 && IsRegister(detail.operands[0], name);
}

bool IsMove(const cs_insn& instruction, x86_reg to, x86_reg from) {
  const cs_x86& detail = instruction.detail->x86;
  return instruction.id == X86_INS_MOV && detail.op_count == 2 && IsRegister(detail.operands[0], to) &&
         IsRegister(detail.operands[1], from);
}

bool MovesStack(const cs_insn& instruction) {
  if (instruction.id == X86_INS_PUSH || instruction.id == X86_INS_POP) return true;
  const cs_x86& detail = instruction.detail->x86;
  return detail.op_count > 0 && IsRegister(detail.operands[0], X86_REG_RSP);
}

// FS and GS hold per-thread and per-CPU data; the processor ignores the other segments in 64-bit mode.
bool LeadsToMember(const x86_op_mem& memory, bool frame_pointer) {
  if (memory.segment == X86_REG_FS || memory.segment == X86_REG_GS) return false;
  switch (memory.base) {
    case X86_REG_INVALID:
    case X86_REG_RSP:
    case X86_REG_ESP:
    case X86_REG_RIP:
    case X86_REG_EIP:
      return false;
    case X86_REG_RBP:
    case X86_REG_EBP:
      return !frame_pointer;
    default:
      return true;
  }
}

bool IsRelocated(const cs_insn& instruction, const std::vector<std::uint64_t>& relocations) {
  const cs_x86_encoding& encoding = instruction.detail->x86.encoding;
  if (encoding.disp_offset == 0) return false;
  const std::uint64_t start = instruction.address + encoding.disp_offset;
  const auto next = std::ranges::lower_bound(relocations, start);
  return next != relocations.end() && *next < start + std::max<unsigned>(encoding.disp_size, 1);
}

class X86Decoder : public OperandDecoder {
 public:
  bool UsesFramePointer(Bytes code) override;
  void Decode(const CodePiece& code, bool frame_pointer, std::set<MemoryAccess>& accesses) override;

 private:
  Disassembler disassembler_;
};

// `push %rbp; mov %rsp,%rbp` with no change of the stack between; wherever shrink-wrapping put it.
bool X86Decoder::UsesFramePointer(Bytes code) {
  bool saved = false;
  bool found = false;
  disassembler_.ForEach(code, [&](const cs_insn& instruction) {
    if (IsPush(instruction, X86_REG_RBP)) {
      saved = true;
    } else if (MovesStack(instruction)) {
      saved = false;
    } else if (saved && IsMove(instruction, X86_REG_RBP, X86_REG_RSP)) {
      found = true;
    }
  });
  return found;
}

void X86Decoder::Decode(const CodePiece& code, bool frame_pointer, std::set<MemoryAccess>& accesses) {
  disassembler_.ForEach(code.bytes, [&](const cs_insn& instruction) {
    const cs_x86& detail = instruction.detail->x86;
    if (TakesOnlyAnAddress(instruction.id) || IsStringInstruction(instruction)) return;
    for (std::size_t position = 0; position < detail.op_count; ++position) {
      const cs_x86_op& operand = detail.operands[position];
      if (operand.type != X86_OP_MEM || !LeadsToMember(operand.mem, frame_pointer)) continue;
      const std::uint8_t access = MemoryAccessOf(instruction, position);
      if (access == 0 || IsRelocated(instruction, code.relocations)) continue;
      accesses.insert({.displacement = operand.mem.disp,
                       .width = operand.size,
                       .reads = (access & CS_AC_READ) != 0,
                       .writes = (access & CS_AC_WRITE) != 0,
                       .atomic = IsAtomic(instruction)});
    }
  });
}

}  // namespace

std::unique_ptr<OperandDecoder> MakeX86Decoder() { return std::make_unique<X86Decoder>(); }

}  // namespace linesmith
