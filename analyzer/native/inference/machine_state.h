// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of the registers and the stack at one place of a function.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "code/machine_code.h"
#include "inference/value.h"

namespace linesmith {

constexpr std::int64_t kWord = 8;  // bytes

// A word of the function's frame; `offset` counts from the frame address (CFA).
struct StackSlot {
  std::int64_t offset = 0;
  Value value;

  bool operator==(const StackSlot&) const = default;
};

// Bytes [start, end) of the function's frame.
struct FrameRange {
  std::int64_t start = 0;
  std::int64_t end = 0;

  bool operator==(const FrameRange&) const = default;
};

class MachineState {
 public:
  // Everything unknown; the stack pointer as at the entry of a function.
  static MachineState AtEntry(const CallingConvention& convention);
  // Everything unknown, the stack pointer too: code that nothing is known to lead to.
  static MachineState Anywhere(const CallingConvention& convention);

  Value& operator[](RegisterNumber reg) { return registers_[reg % kMostRegisters]; }
  const Value& operator[](RegisterNumber reg) const { return registers_[reg % kMostRegisters]; }
  std::array<Value, kMostRegisters>& registers() { return registers_; }

  // Unset where nothing was stored.
  Value SlotAt(std::int64_t offset) const;
  // Writes a word; words that it overlaps become foreign.
  void SetSlot(std::int64_t offset, const Value& value);
  // Words that were stored there are no longer known.
  void Forget(const FrameRange& range);
  const std::vector<StackSlot>& slots() const { return slots_; }
  // From now on others know the address of these bytes; returns whether that is new.
  bool Expose(const FrameRange& range);
  // Others have run: they may have written to what is exposed.
  void ForgetExposed();
  const std::vector<FrameRange>& exposed() const { return exposed_; }
  // Whether no path from the function's entry has led here, so that the stack pointer is not known either.
  bool is_adrift() const { return adrift_; }
  // From now on the stack pointer is known.
  void Anchor() { adrift_ = false; }
  // The frame of another state instead: its stack pointer, and what lies there.
  void TakeFrame(const MachineState& other, const CallingConvention& convention);

 private:
  std::array<Value, kMostRegisters> registers_;
  std::vector<StackSlot> slots_;     // by ascending offset
  std::vector<FrameRange> exposed_;  // by ascending start, none touching another one
  bool adrift_ = false;
};

}  // namespace linesmith
