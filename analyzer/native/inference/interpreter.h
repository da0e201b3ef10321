// SPDX-License-Identifier: GPL-2.0-or-later
// What one instruction after the other does to what is known of registers and stack slots.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "code/machine_code.h"
#include "inference/learnt_claims.h"
#include "inference/machine_state.h"
#include "inference/place_table.h"
#include "inference/value_algebra.h"
#include "program/function_facts.h"

namespace linesmith {

// The definition that a register has where block `block` begins and paths bring different values.
constexpr Definition MeetingOf(std::uint32_t block, RegisterNumber reg) {
  return 0x80000000u | block << 5 | reg;
}

class Interpreter {
 public:
  Interpreter(const std::vector<Instruction>& instructions, const PlaceTable& places, ValueAlgebra& algebra,
              const ProgramKnowledge& program, const CallingConvention& convention);

  // What other places have said of values; `learn` (null: nothing) gets what is said from now on.
  void Use(const LearntClaims* known, LearntClaims* learn);
  // Takes the state at the beginning of a block, whose first instruction is `first`.
  void EnterBlock(std::uint32_t block, std::uint32_t first, const MachineState& state);
  // Takes in what variables say where instruction `index` begins. Comes before the next three.
  void Reach(std::uint32_t index);
  // The address that a use of the instruction touches.
  Value AddressOf(const Address& address);
  // What a call that comes next gets in a register.
  Value Argument(RegisterNumber reg) { return Seen(reg); }
  // What variables say of a register, here and at places that are connected with this one.
  std::vector<Claim> ClaimsOn(RegisterNumber reg, std::uint64_t address) const;
  // The address if its base register were what `claim` says.
  Value AddressWith(const Address& address, const Claim& claim);
  // Runs the instruction.
  void Execute(std::uint32_t index);

  const MachineState& state() const { return state_; }

 private:
  void Activate(std::uint32_t place);
  void Apply(const ClaimedPlace& place);
  void Learn(const Value& value, const Claim& claim);
  Value Seen(RegisterNumber reg);
  void DropEnded(std::vector<std::uint32_t>& places, std::uint64_t address) const;
  void ApplyAgain(RegisterNumber reg, std::uint64_t address);
  void Define(RegisterNumber reg, Value value, Definition definition);
  void Effects(std::uint32_t index);
  void SideEffects(const Instruction& instruction);
  void Stores(const Instruction& instruction);
  void Store(const MemoryUse& use, std::int64_t offset, const Value& stored);
  void Call(std::uint32_t index);
  std::optional<Value> ThreadVariable(const Instruction& call) const;
  Value ResultOfCall(const Instruction& instruction);
  Value ResultThrough(const Value& function);
  Value ValueOfType(TypeId type);
  bool IsThreadPointer(const Address& address) const;
  Value Computed(const Address& operand);
  Value Loaded(const MemoryUse& use, std::uint32_t width);
  Value Alternative(const Instruction& select);
  Value Addend(const Instruction& sum);
  Value LoadedFromStack(const Value& address, std::uint32_t width);
  FrameRange ObjectAt(std::int64_t offset);
  void Expose(const Value& address);
  std::optional<std::int64_t> StartOf(const ClaimedPlace& place) const;
  bool IsStackGuard(const Address& address);
  Value PerCpuAddress(const Address& address);
  Value TaskAddress();
  void Clobber(RegisterNumber reg);

  const std::vector<Instruction>& instructions_;
  const PlaceTable& places_;
  ValueAlgebra& algebra_;
  const ProgramKnowledge& program_;
  const CallingConvention& convention_;
  const LearntClaims* known_ = nullptr;
  LearntClaims* learn_ = nullptr;
  MachineState state_;
  // Places that hold now, perhaps some that have ended: by register, and those in memory.
  std::array<std::vector<std::uint32_t>, kMostRegisters> in_registers_;
  std::vector<std::uint32_t> in_memory_;
  std::uint32_t next_place_ = 0;
  std::uint32_t block_ = 0;
  std::uint64_t behind_ = 0;  // address behind the instruction that runs
};

}  // namespace linesmith
