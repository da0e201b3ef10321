// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/machine_state.h"

#include <algorithm>

namespace linesmith {
namespace {

constexpr std::int64_t kWord = 8;
// Frames of real functions hold a few dozen values at a time; the oldest knowledge need not be kept.
constexpr std::size_t kMostSlots = 256;

}  // namespace

MachineState MachineState::AtEntry(const CallingConvention& convention) {
  MachineState state = Anywhere(convention);
  state[convention.stack_pointer] = Value::Stack(-convention.pushed_by_call);
  state.Anchor();
  return state;
}

MachineState MachineState::Anywhere(const CallingConvention& convention) {
  MachineState state;
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    state.registers_[reg] = Value::Unknown(Definition{reg} + 1);
  }
  Value& stack = state[convention.stack_pointer];
  stack = Value::Stack(0);
  stack.stride = 1;
  state.adrift_ = true;
  return state;
}

void MachineState::TakeFrame(const MachineState& other, const CallingConvention& convention) {
  registers_[convention.stack_pointer] = other[convention.stack_pointer];
  slots_ = other.slots_;
  adrift_ = other.adrift_;
}

Value MachineState::SlotAt(std::int64_t offset) const {
  const auto found = std::ranges::lower_bound(slots_, offset, {}, &StackSlot::offset);
  return found != slots_.end() && found->offset == offset ? found->value : Value{};
}

void MachineState::SetSlot(std::int64_t offset, const Value& value) {
  const auto found = std::ranges::lower_bound(slots_, offset, {}, &StackSlot::offset);
  if (found != slots_.end() && found->offset == offset) {
    found->value = value;
    return;
  }
  EraseSlots(offset, kWord);
  if (slots_.size() >= kMostSlots) return;
  const auto place = std::ranges::lower_bound(slots_, offset, {}, &StackSlot::offset);
  slots_.insert(place, {offset, value});
}

void MachineState::EraseSlots(std::int64_t offset, std::int64_t bytes) {
  const auto first = std::ranges::upper_bound(slots_, offset - kWord, {}, &StackSlot::offset);
  const auto last = std::ranges::lower_bound(slots_, offset + bytes, {}, &StackSlot::offset);
  if (first < last) slots_.erase(first, last);
}

}  // namespace linesmith
