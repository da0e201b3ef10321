// SPDX-License-Identifier: GPL-2.0-or-later
#include <capstone/capstone.h>

#include <array>
#include <new>

#include "code/instruction_decoders.h"
#include "code/x86_access.h"
#include "code/x86_effects.h"
#include "code/x86_operands.h"

namespace linesmith {
namespace {

constexpr std::uint32_t Bit(RegisterNumber reg) { return 1u << reg; }

// System V ABI, AMD64 supplement, section 3.2.
CallingConvention SystemV() {
  CallingConvention convention{.stack_pointer = kRsp,
                               .result = kRax,
                               .arguments = {kRdi, kRsi, kRdx, kRcx, 8, 9},
                               .pushed_by_call = 8};
  for (const RegisterNumber kept : std::to_array<RegisterNumber>({3, kRbp, kRsp, 12, 13, 14, 15})) {
    convention.kept_by_callee |= Bit(kept);
  }
  return convention;
}

AccessKind KindOf(const cs_insn& instruction, std::uint8_t access) {
  if (access == CS_AC_READ) return AccessKind::kRead;
  if (access == CS_AC_WRITE) return AccessKind::kWrite;
  return IsAtomic(instruction) ? AccessKind::kAtomic : AccessKind::kReadWrite;
}

// The state of the floating-point unit has a size of its own, extended state one that the processor tells.
std::uint32_t WidthOf(const cs_insn& instruction, std::uint32_t operand_bytes) {
  switch (instruction.id) {
    case X86_INS_FXSAVE:
    case X86_INS_FXSAVE64:
    case X86_INS_FXRSTOR:
    case X86_INS_FXRSTOR64:
      return 512;
    case X86_INS_XRSTOR:
    case X86_INS_XRSTOR64:
    case X86_INS_XRSTORS:
    case X86_INS_XRSTORS64:
      return 0;
    default:
      return SavesExtendedState(instruction.id) ? 0 : operand_bytes;
  }
}

bool IsRepeated(const cs_x86& detail) {
  return detail.prefix[0] == X86_PREFIX_REP || detail.prefix[0] == X86_PREFIX_REPNE;
}

// What capstone does not know. Of vector instructions without memory nothing needs to be known; those with it
// are honest unknowns, since nobody told which way the data go.
void DescribeUnknown(Bytes code, Instruction& instruction) {
  const std::optional<UnknownX86> known = MeasureX86(code);
  instruction.length = known ? known->length : 1;
  instruction.decoded = known && !known->touches_memory;
  if (known && known->is_system) instruction.clobbered = Bit(kRax) | Bit(kRcx) | Bit(kRdx);
}

class X86InstructionDecoder : public InstructionDecoder {
 public:
  explicit X86InstructionDecoder(bool kernel) : kernel_(kernel) {
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &handle_) != CS_ERR_OK) throw std::bad_alloc();
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    raw_ = cs_malloc(handle_);
    if (raw_ == nullptr) {
      cs_close(&handle_);
      throw std::bad_alloc();
    }
  }
  ~X86InstructionDecoder() override {
    cs_free(raw_, 1);
    cs_close(&handle_);
  }
  X86InstructionDecoder(const X86InstructionDecoder&) = delete;
  X86InstructionDecoder& operator=(const X86InstructionDecoder&) = delete;

  const CallingConvention& convention() const override { return convention_; }
  void Decode(const CodeRange& code, std::vector<Instruction>& instructions) override;

 private:
  void AddUses(Instruction& instruction) const;
  void DescribeString(Instruction& instruction) const;

  csh handle_ = 0;
  cs_insn* raw_ = nullptr;
  bool kernel_;
  CallingConvention convention_ = SystemV();
};

void X86InstructionDecoder::AddUses(Instruction& instruction) const {
  if (TakesOnlyAnAddress(raw_->id)) return;
  const cs_x86& detail = raw_->detail->x86;
  for (std::size_t position = 0; position < detail.op_count; ++position) {
    const cs_x86_op& operand = detail.operands[position];
    if (operand.type != X86_OP_MEM || instruction.use_count == std::size(instruction.uses)) continue;
    const std::uint8_t access = MemoryAccessOf(*raw_, position);
    if (access == 0) continue;
    instruction.uses[instruction.use_count++] = {.address = AddressOf(*raw_, operand.mem, kernel_),
                                                 .width = WidthOf(*raw_, operand.size),
                                                 .kind = KindOf(*raw_, access)};
  }
}

// Repeated ones touch as much as rcx says, and move their pointers as far.
void X86InstructionDecoder::DescribeString(Instruction& instruction) const {
  const bool repeated = IsRepeated(raw_->detail->x86);
  for (std::size_t i = 0; i < instruction.use_count; ++i) {
    MemoryUse& use = instruction.uses[i];
    if (repeated) use.width = 0;
    if (use.address.base != kNoRegister) instruction.clobbered |= Bit(use.address.base);
  }
  if (repeated) instruction.clobbered |= Bit(kRcx);
  const std::uint8_t opcode = raw_->detail->x86.opcode[0];
  const bool loads = opcode == 0xac || opcode == 0xad;
  if (loads) instruction.clobbered |= Bit(kRax);
}

void X86InstructionDecoder::Decode(const CodeRange& code, std::vector<Instruction>& instructions) {
  const std::uint8_t* position = code.bytes.data();
  std::size_t left = code.bytes.size();
  std::uint64_t address = code.address;
  while (left > 0) {
    Instruction& instruction = instructions.emplace_back();
    instruction.address = address;
    if (!cs_disasm_iter(handle_, &position, &left, &address, raw_)) {
      DescribeUnknown({position, left}, instruction);
      position += instruction.length;
      address += instruction.length;
      left -= instruction.length;
      continue;
    }
    instruction.length = static_cast<std::uint8_t>(raw_->size);
    AddUses(instruction);
    if (IsStringInstruction(*raw_)) {
      DescribeString(instruction);
    } else {
      DescribeX86(*raw_, kernel_, instruction);
    }
  }
}

}  // namespace

std::unique_ptr<InstructionDecoder> MakeX86InstructionDecoder(bool kernel) {
  return std::make_unique<X86InstructionDecoder>(kernel);
}

}  // namespace linesmith
