// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/machine_state.h"

#include <algorithm>

namespace linesmith {
namespace {

// Frames of real functions hold a few dozen values at a time; the oldest knowledge need not be kept.
constexpr std::size_t kMostSlots = 256;
// More variables than that count as one.
constexpr std::size_t kMostRanges = 64;

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
  exposed_ = other.exposed_;
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
  Forget({offset, offset + kWord});
  if (slots_.size() >= kMostSlots) return;
  const auto place = std::ranges::lower_bound(slots_, offset, {}, &StackSlot::offset);
  slots_.insert(place, {offset, value});
}

void MachineState::Forget(const FrameRange& range) {
  const auto first = std::ranges::upper_bound(slots_, range.start - kWord, {}, &StackSlot::offset);
  for (auto slot = first; slot != slots_.end() && slot->offset < range.end; ++slot) {
    slot->value = Value::Foreign();
  }
}

bool MachineState::Expose(const FrameRange& range) {
  const auto first = std::ranges::lower_bound(exposed_, range.start, {}, &FrameRange::end);
  if (first != exposed_.end() && first->start <= range.start && range.end <= first->end) return false;
  FrameRange whole = range;
  auto last = first;
  for (; last != exposed_.end() && last->start <= range.end; ++last) {
    whole.start = std::min(whole.start, last->start);
    whole.end = std::max(whole.end, last->end);
  }
  exposed_.insert(exposed_.erase(first, last), whole);
  if (exposed_.size() > kMostRanges) exposed_ = {{exposed_.front().start, exposed_.back().end}};
  return true;
}

void MachineState::ForgetExposed() {
  for (const FrameRange& range : exposed_) Forget(range);
}

}  // namespace linesmith
