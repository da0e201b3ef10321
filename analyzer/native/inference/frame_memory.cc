// SPDX-License-Identifier: GPL-2.0-or-later
// What the interpreter does with memory of the function's own frame.
#include <algorithm>

#include "inference/interpreter.h"

namespace linesmith {
namespace {}  // namespace

// The word that was stored there, or what the variable is that lies there.
Value Interpreter::LoadedFromStack(const Value& address, std::uint32_t width) {
  if (width != kWord) return Value::Number();
  if (address.stride != 0) return Value::Unknown();
  Value value = state_.SlotAt(address.offset);
  if (value.kind == ValueKind::kUnset) value = Value::Unknown();
  DropEnded(in_memory_, behind_ - 1);
  for (const std::uint32_t number : in_memory_) {
    const ClaimedPlace& place = places_.places()[number];
    const std::optional<std::int64_t> start = StartOf(place);
    if (!start) continue;
    const Claim* claim = &place.claim;
    Claim member;
    if (place.object != kVoid) {
      const Content content = algebra_.parts().ContentAt(place.object, address.offset - *start, width);
      if (content.kind != Content::Kind::kPointer) continue;
      member.type = content.target;
      claim = &member;
    } else if (*start != address.offset) {
      continue;
    }
    value = algebra_.Refine(value, *claim);
  }
  return value;
}

// The variable around a place of the frame; around a place in none of them may be anything up to its end.
FrameRange Interpreter::ObjectAt(std::int64_t offset) {
  DropEnded(in_memory_, behind_ - 1);
  FrameRange found{offset, std::max<std::int64_t>(offset + kWord, 0)};
  std::int64_t most = 0;
  for (const std::uint32_t number : in_memory_) {
    const ClaimedPlace& place = places_.places()[number];
    if (place.object == kVoid) continue;
    const std::optional<std::int64_t> start = StartOf(place);
    const auto bytes = static_cast<std::int64_t>(algebra_.parts().graph()[place.object].size);
    if (!start || offset < *start || offset - *start >= bytes || bytes <= most) continue;
    most = bytes;
    found = {*start, *start + bytes};
  }
  return found;
}

// Where in the frame a place is; nothing when it is elsewhere.
std::optional<std::int64_t> Interpreter::StartOf(const ClaimedPlace& place) const {
  if (place.kind == PlaceKind::kFrame) return place.offset;
  const Value& base = state_[place.reg];
  if (base.kind != ValueKind::kStack || base.stride != 0) return std::nullopt;
  return base.offset + place.offset;
}

// Who knows the address of a variable may write to all of it.
void Interpreter::Expose(const Value& address) {
  if (address.kind == ValueKind::kStack) state_.Expose(ObjectAt(address.offset));
}

void Interpreter::Stores(const Instruction& instruction) {
  for (std::uint8_t i = 0; i < instruction.use_count; ++i) {
    const MemoryUse& use = instruction.uses[i];
    if (use.kind == AccessKind::kRead) continue;
    const RegisterNumber source = i == 0 ? instruction.source : instruction.other;
    const bool plain = instruction.effect == Effect::kNone && source < kMostRegisters;
    const Value stored = plain ? state_[source] : Value::Number();
    if (plain) Expose(stored);
    if (use.address.segment != Segment::kNone) continue;
    const Value address = AddressOf(use.address);
    if (address.kind != ValueKind::kStack) continue;
    if (address.stride != 0 || use.width == 0) {
      state_.Forget(ObjectAt(address.offset));
    } else {
      Store(use, address.offset, stored);
    }
  }
}

void Interpreter::Store(const MemoryUse& use, std::int64_t offset, const Value& stored) {
  if (use.kind == AccessKind::kWrite && use.width == kWord) {
    state_.SetSlot(offset, stored);
  } else {
    state_.Forget({offset, offset + use.width});
  }
}

}  // namespace linesmith
