// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/block_states.h"

#include <algorithm>

namespace linesmith {
namespace {

// From this visit of a block on whatever still changes becomes a conflict, so that made-up code ends too.
constexpr std::uint8_t kPatience = 20;
constexpr std::uint8_t kMostVisits = 200;

}  // namespace

BlockStates::BlockStates(const ControlFlow& flow, const std::vector<Instruction>& instructions,
                         ValueAlgebra& algebra, const CallingConvention& convention)
    : flow_(flow),
      instructions_(instructions),
      algebra_(algebra),
      convention_(convention),
      states_(flow.blocks().size()),
      visits_(flow.blocks().size(), 0),
      position_(flow.blocks().size()),
      queued_(flow.blocks().size(), false) {
  for (std::uint32_t i = 0; i < flow.order().size(); ++i) position_[flow.order()[i]] = i;
}

void BlockStates::Solve(Interpreter& interpreter) {
  Start(flow_.entry(), MachineState::AtEntry(convention_));
  for (const std::uint32_t root : flow_.order()) {
    if (visits_[root] == 0 && !IsPadding(flow_.blocks()[root])) Start(root, Elsewhere());
    while (!queue_.empty()) {
      const std::uint32_t block = flow_.order()[queue_.top()];
      queue_.pop();
      Run(block, interpreter);
    }
  }
}

void BlockStates::Enqueue(std::uint32_t block) {
  if (queued_[block]) return;
  queued_[block] = true;
  queue_.push(position_[block]);
}

void BlockStates::Start(std::uint32_t block, MachineState state) {
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    if (state[reg].kind == ValueKind::kUnknown) state[reg].definition = MeetingOf(block, reg);
  }
  states_[block] = std::move(state);
  visits_[block] = 1;
  Enqueue(block);
}

// No-ops that align what follows: nothing leads to them.
bool BlockStates::IsPadding(const BasicBlock& block) const {
  const auto first = instructions_.begin();
  return std::all_of(first + block.first, first + block.last, [](const Instruction& instruction) {
    return instruction.effect == Effect::kNone && instruction.flow == Flow::kNext && instruction.decoded &&
           instruction.use_count == 0 && instruction.clobbered == 0 && instruction.stack_change == 0;
  });
}

// What holds where only a jump to a place that is not known may lead: such jumps stay within a frame.
MachineState BlockStates::Elsewhere() const {
  MachineState state = MachineState::Anywhere(convention_);
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    if (frame_[reg].kind == ValueKind::kStack) state[reg] = frame_[reg];
  }
  if (frame_[convention_.stack_pointer].kind == ValueKind::kStack) state.Anchor();
  return state;
}

void BlockStates::KeepFrame(const MachineState& state) {
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    Value& kept = frame_[reg];
    if (kept.kind == ValueKind::kUnset) {
      kept = state[reg].kind == ValueKind::kStack ? state[reg] : Value::Conflict();
    } else if (kept != state[reg]) {
      kept = Value::Conflict();
    }
  }
}

void BlockStates::Run(std::uint32_t number, Interpreter& interpreter) {
  queued_[number] = false;
  const BasicBlock& block = flow_.blocks()[number];
  interpreter.EnterBlock(number, block.first, states_[number]);
  for (std::uint32_t i = block.first; i < block.last; ++i) {
    interpreter.Reach(i);
    interpreter.Execute(i);
  }
  if (block.leads_anywhere) KeepFrame(interpreter.state());
  for (const std::uint32_t successor : block.successors) Flow(interpreter.state(), successor);
}

void BlockStates::Flow(const MachineState& from, std::uint32_t block) {
  std::uint8_t& visits = visits_[block];
  MachineState& known = states_[block];
  if (visits == 0) {
    known = from;
    visits = 1;
    Enqueue(block);
    return;
  }
  if (visits >= kMostVisits) return;
  const bool widen = visits >= kPatience;
  bool changed = known.is_adrift() && !from.is_adrift();
  const bool framed = from.is_adrift() == known.is_adrift();
  if (changed) known.TakeFrame(from, convention_);
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    if (reg == convention_.stack_pointer && !framed) continue;
    changed |= Meet(known[reg], from[reg], MeetingOf(block, reg), widen);
  }
  if (framed) {
    changed |= MeetSlots(known, from, widen);
    for (const FrameRange& range : from.exposed()) changed |= known.Expose(range);
  }
  if (!changed) return;
  ++visits;
  Enqueue(block);
}

bool BlockStates::Meet(Value& known, const Value& brought, Definition meeting, bool widen) {
  if (known == brought) return false;
  Value joined = algebra_.Join(known, brought, meeting);
  if (joined == known) return false;
  known = widen ? Value::Conflict() : joined;
  return true;
}

// A word that only one path has stored is not looked at by code that the other one leads to.
bool BlockStates::MeetSlots(MachineState& known, const MachineState& brought, bool widen) {
  bool changed = false;
  for (const StackSlot& slot : brought.slots()) {
    Value value = known.SlotAt(slot.offset);
    if (value.kind == ValueKind::kUnset) {
      value = slot.value;
    } else if (!Meet(value, slot.value, 0, widen)) {
      continue;
    }
    known.SetSlot(slot.offset, value);
    // Full, or in the way of another word.
    changed |= known.SlotAt(slot.offset) == value;
  }
  return changed;
}

}  // namespace linesmith
