// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/arm64_effects.h"
#include "code/arm64_memory.h"
#include "code/instruction_decoders.h"
#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

constexpr std::uint8_t kInstructionBytes = 4;

// Procedure call standard for the Arm 64-bit architecture, section 6.1.
CallingConvention Aapcs64() {
  CallingConvention convention{.stack_pointer = kArm64StackPointer,
                               .result = 0,
                               .arguments = {0, 1, 2, 3, 4, 5, 6, 7},
                               .kept_by_callee = 1u << kArm64StackPointer};
  for (RegisterNumber kept = 19; kept <= 29; ++kept) convention.kept_by_callee |= 1u << kept;
  return convention;
}

// An exclusive store ends a read-modify-write, its load is but a load.
AccessKind KindOf(const Arm64Memory& memory) {
  if (memory.writes && memory.atomic) return AccessKind::kAtomic;
  return memory.writes ? AccessKind::kWrite : AccessKind::kRead;
}

void AddUses(const Arm64Memory& memory, Instruction& instruction) {
  for (unsigned i = 0; i < memory.count && instruction.use_count < std::size(instruction.uses); ++i) {
    MemoryUse& use = instruction.uses[instruction.use_count++];
    use.address = {.base = memory.base,
                   .index = memory.index,
                   .scale = memory.index_scale,
                   .displacement = memory.displacement + std::int64_t{i} * memory.width};
    use.width = memory.width;
    use.kind = KindOf(memory);
  }
}

void SetLoaded(const Arm64Memory& memory, Instruction& instruction) {
  const bool both = memory.first != kNoArm64Register;
  if (!both && memory.second != kNoArm64Register) instruction.clobbered |= 1u << memory.second;
  if (!both) return;
  instruction.effect = Effect::kLoad;
  instruction.target = memory.first;
  instruction.other = memory.second;
  instruction.load_bytes = static_cast<std::uint8_t>(memory.width);
}

void SetStored(const Arm64Memory& memory, Instruction& instruction) {
  if (memory.status != kNoArm64Register) instruction.clobbered |= 1u << memory.status;
  if (memory.width < 8) return;
  instruction.source = memory.first;
  instruction.other = memory.second;
}

void SetWriteback(const Arm64Memory& memory, Instruction& instruction) {
  if (memory.writeback_unknown) instruction.clobbered |= 1u << memory.base;
  if (memory.writeback == 0) return;
  if (memory.base == kArm64StackPointer) {
    instruction.stack_change = memory.writeback;
  } else {
    instruction.advanced = memory.base;
    instruction.advance = memory.writeback;
  }
}

void DescribeMemory(const Arm64Memory& memory, Instruction& instruction) {
  AddUses(memory, instruction);
  if (memory.reads) {
    SetLoaded(memory, instruction);
  } else {
    SetStored(memory, instruction);
  }
  SetWriteback(memory, instruction);
}

// LDR, LDRSW (literal) and those of vectors; PRFM touches nothing.
bool DescribeLiteral(std::uint32_t word, Instruction& instruction) {
  if ((word & 0x3b000000) != 0x18000000) return false;
  const std::uint32_t kind = Arm64Bits(word, 30, 2);
  const bool vector = Arm64Bits(word, 26, 1) != 0;
  if (kind == 3) return true;
  const std::uint32_t width = vector ? 4u << kind : kind == 1 ? 8 : 4;
  const auto distance = static_cast<std::uint64_t>(Arm64SignedBits(word, 5, 19) * 4);
  const auto place = static_cast<std::int64_t>(instruction.address + distance);
  instruction.uses[instruction.use_count++] = {.address = {.absolute = true, .displacement = place},
                                               .width = width};
  const std::uint32_t target = Arm64Bits(word, 0, 5);
  if (vector || target == kArm64StackPointer) return true;
  instruction.effect = Effect::kLoad;
  instruction.target = static_cast<RegisterNumber>(target);
  instruction.load_bytes = static_cast<std::uint8_t>(width);
  return true;
}

class Arm64InstructionDecoder : public InstructionDecoder {
 public:
  explicit Arm64InstructionDecoder(bool kernel) : kernel_(kernel) {}

  const CallingConvention& convention() const override { return convention_; }
  void Decode(const CodeRange& code, std::vector<Instruction>& instructions) override;

 private:
  void Describe(std::uint32_t word, Instruction& instruction) const;

  bool kernel_;
  CallingConvention convention_ = Aapcs64();
};

void Arm64InstructionDecoder::Describe(std::uint32_t word, Instruction& instruction) const {
  if (const std::optional<Arm64Memory> memory = DecodeArm64Memory(word)) {
    DescribeMemory(*memory, instruction);
  } else if (!DescribeLiteral(word, instruction)) {
    DescribeArm64(word, kernel_, instruction);
  }
}

// Instructions are little-endian even where data are not.
void Arm64InstructionDecoder::Decode(const CodeRange& code, std::vector<Instruction>& instructions) {
  ByteCursor cursor(code.bytes, true);
  std::uint64_t address = code.address;
  for (; cursor.left() >= kInstructionBytes; address += kInstructionBytes) {
    Instruction& instruction = instructions.emplace_back();
    instruction.address = address;
    instruction.length = kInstructionBytes;
    Describe(cursor.U32(), instruction);
  }
  if (cursor.done()) return;
  Instruction& rest = instructions.emplace_back();
  rest.address = address;
  rest.length = static_cast<std::uint8_t>(cursor.left());
  rest.decoded = false;
}

}  // namespace

std::unique_ptr<InstructionDecoder> MakeArm64InstructionDecoder(bool kernel) {
  return std::make_unique<Arm64InstructionDecoder>(kernel);
}

}  // namespace linesmith
