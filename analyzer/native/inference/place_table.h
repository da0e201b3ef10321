// SPDX-License-Identifier: GPL-2.0-or-later
// The places of a function's variables, as what they say of registers and stack slots.
#pragma once

#include <cstdint>
#include <vector>

#include "inference/control_flow.h"
#include "inference/value_algebra.h"
#include "program/function_facts.h"
#include "types/type_parts.h"

namespace linesmith {

// While the program counter is in [low, high), what `kind`, `reg` and `offset` name holds a value of which
// `claim` is known. kMemory and kFrame also stand for objects of their own: `object` is their type.
struct ClaimedPlace {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  PlaceKind kind = PlaceKind::kRegister;
  RegisterNumber reg = kNoRegister;
  std::int64_t offset = 0;  // kMemory, kFrame
  Claim claim;
  TypeId object = kVoid;
};

class PlaceTable {
 public:
  // Places that say nothing of pointers are left out.
  PlaceTable(const FunctionFacts* facts, TypeParts& parts);

  // By ascending `low`; of the same one those of deeper inlines later.
  const std::vector<ClaimedPlace>& places() const { return places_; }
  // Position of the first place with a `low` above `address`.
  std::uint32_t FirstAfter(std::uint64_t address) const;
  // Notes for each block which places already hold where it begins.
  void Enter(const ControlFlow& flow, const std::vector<Instruction>& instructions);
  // Positions of the places that hold at the first instruction of `block` and began before or there.
  const std::vector<std::uint32_t>& At(std::uint32_t block) const { return entered_[block]; }

 private:
  void Add(const VariablePlace& place, TypeParts& parts);

  std::vector<ClaimedPlace> places_;
  std::vector<std::vector<std::uint32_t>> entered_;
};

}  // namespace linesmith
