// SPDX-License-Identifier: GPL-2.0-or-later
// The state with which each block of a function begins, joined over the paths that lead there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "inference/control_flow.h"
#include "inference/interpreter.h"
#include "inference/machine_state.h"
#include "inference/value_algebra.h"

namespace linesmith {

class BlockStates {
 public:
  BlockStates(const ControlFlow& flow, const std::vector<Instruction>& instructions, ValueAlgebra& algebra,
              const CallingConvention& convention);

  // Runs blocks until no state changes any more. Blocks that no edge leads to begin with everything unknown.
  void Solve(Interpreter& interpreter);
  const MachineState& operator[](std::uint32_t block) const { return states_[block]; }

 private:
  void Run(std::uint32_t block, Interpreter& interpreter);
  void Enqueue(std::uint32_t block);
  void Start(std::uint32_t block, MachineState state);
  bool IsPadding(const BasicBlock& block) const;
  MachineState Elsewhere() const;
  void KeepFrame(const MachineState& state);
  void Flow(const MachineState& from, std::uint32_t block);
  bool Meet(Value& known, const Value& brought, Definition meeting, bool widen);
  bool MeetSlots(MachineState& known, const MachineState& brought, bool widen);

  const ControlFlow& flow_;
  const std::vector<Instruction>& instructions_;
  ValueAlgebra& algebra_;
  const CallingConvention& convention_;
  std::vector<MachineState> states_;
  std::vector<std::uint8_t> visits_;     // 0: not reached
  std::vector<std::uint32_t> position_;  // in the flow's order, by block
  // Positions of the blocks that are to run, the first of the order on top; each once.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> queue_;
  std::vector<bool> queued_;
  // What jumps to places that are not known leave in each register, as long as it leads into the frame;
  // unset where none has jumped so far.
  std::array<Value, kMostRegisters> frame_{};
};

}  // namespace linesmith
