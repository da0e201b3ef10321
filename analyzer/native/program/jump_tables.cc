// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/jump_tables.h"

namespace linesmith {
namespace {

// How far before a jump its table's address is looked for: loops keep it in a register.
constexpr std::uint32_t kWindow = 400;
// The rest of the computation stands right before the jump.
constexpr std::uint32_t kNear = 24;
constexpr unsigned kDeepest = 6;
// A made-up function could be nothing but jumps.
constexpr std::uint64_t kStepsOfInstruction = 64;
constexpr std::uint64_t kLeastSteps = 1 << 20;

// Distances of that size have a sign; of smaller ones the instruction that adds them tells.
constexpr unsigned kDistanceBytes = 4;

bool Writes(const Instruction& instruction, RegisterNumber reg) {
  const bool effect = instruction.effect != Effect::kNone && instruction.target == reg;
  return effect || (instruction.clobbered >> reg & 1) != 0;
}

}  // namespace

JumpTableFinder::JumpTableFinder(const std::vector<Instruction>& instructions)
    : instructions_(instructions), steps_left_(kLeastSteps + kStepsOfInstruction * instructions.size()) {}

std::optional<JumpTable> JumpTableFinder::Find(std::uint32_t jump) {
  const Instruction& instruction = instructions_[jump];
  Sum target{.varies = true};
  if (instruction.use_count > 0) {
    target = Loaded(instruction.uses[0], jump, 0);
  } else if (instruction.source < kMostRegisters) {
    target = OfRegister(instruction.source, jump, 0);
  }
  if (target.entry_bytes == 0 || target.varies) return std::nullopt;
  const bool addresses = target.entry_bytes == kAddressBytes;
  if (addresses != (target.constant == 0)) return std::nullopt;
  return JumpTable{.address = target.table,
                   .entry_bytes = target.entry_bytes,
                   .base = target.constant,
                   .scale = target.scale,
                   .is_signed = target.is_signed};
}

JumpTableFinder::Sum JumpTableFinder::Added(const Sum& one, const Sum& two) const {
  Sum sum = one.entry_bytes != 0 ? one : two;
  sum.constant = one.constant + two.constant;
  sum.varies = one.varies || two.varies || (one.entry_bytes != 0 && two.entry_bytes != 0);
  return sum;
}

// What the register was last given, in the order of addresses.
JumpTableFinder::Sum JumpTableFinder::OfRegister(RegisterNumber reg, std::uint32_t before, unsigned depth) {
  const Sum unknown{.varies = true};
  if (reg >= kMostRegisters) return {};
  const std::uint32_t stop = before > kWindow ? before - kWindow : 0;
  for (std::uint32_t i = before; i-- > stop;) {
    if (steps_left_ == 0) return unknown;
    --steps_left_;
    if (!Writes(instructions_[i], reg)) continue;
    const bool near = before - i <= kNear && depth < kDeepest;
    return near || instructions_[i].effect == Effect::kConstant ? OfEffect(i, depth + 1) : unknown;
  }
  return unknown;
}

JumpTableFinder::Sum JumpTableFinder::OfEffect(std::uint32_t position, unsigned depth) {
  const Instruction& instruction = instructions_[position];
  switch (instruction.effect) {
    case Effect::kConstant:
      return {.constant = static_cast<std::uint64_t>(instruction.constant)};
    case Effect::kMove:
    case Effect::kTruncate:
      return OfRegister(instruction.source, position, depth);
    case Effect::kLoad:
      return Loaded(instruction.uses[0], position, depth);
    case Effect::kAdd:
      return Added(OfRegister(instruction.source, position, depth),
                   {.constant = static_cast<std::uint64_t>(instruction.constant)});
    case Effect::kSum: {
      const bool loads = instruction.other >= kMostRegisters && instruction.use_count > 0;
      return Added(OfRegister(instruction.source, position, depth),
                   loads ? Loaded(instruction.uses[0], position, depth)
                         : OfRegister(instruction.other, position, depth));
    }
    case Effect::kAddress: {
      Sum sum = OfAddress(instruction.operand, position, depth);
      sum.is_signed |= instruction.extends_sign;
      return sum;
    }
    default:
      return {.varies = true};
  }
}

JumpTableFinder::Sum JumpTableFinder::OfAddress(const Address& address, std::uint32_t before,
                                                unsigned depth) {
  if (address.segment != Segment::kNone) return {.varies = true};
  Sum sum = OfRegister(address.base, before, depth);
  sum.constant += static_cast<std::uint64_t>(address.displacement);
  if (address.index == kNoRegister) return sum;
  Sum index = OfRegister(address.index, before, depth);
  if (index.entry_bytes == 0 && !index.varies) index.constant *= address.scale;
  if (index.entry_bytes != 0 && (index.varies || index.constant != 0 || index.scale != 1)) {
    sum.varies = true;
    return sum;
  }
  if (index.entry_bytes != 0) index.scale = address.scale;
  return Added(sum, index);
}

JumpTableFinder::Sum JumpTableFinder::Loaded(const MemoryUse& use, std::uint32_t before, unsigned depth) {
  const Sum place = OfAddress(use.address, before, depth);
  // An index out of another table varies as any other does.
  const bool varies = place.varies || place.entry_bytes != 0;
  const bool indexed = varies && use.address.index != kNoRegister;
  if (!indexed || use.width > kAddressBytes) return {.varies = true};
  return {.entry_bytes = static_cast<std::uint8_t>(use.width),
          .table = place.constant,
          .is_signed = use.width >= kDistanceBytes};
}

}  // namespace linesmith
