// SPDX-License-Identifier: GPL-2.0-or-later
// Arithmetic on what is known of values: sums, loads, meeting paths, and what variables add.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inference/outer_types.h"
#include "inference/type_inference.h"
#include "inference/value.h"
#include "types/type_parts.h"

namespace linesmith {

// What a variable says of the value it is in: it leads `offset` bytes into an object of `type`.
struct Claim {
  TypeId type = kVoid;
  std::int64_t offset = 0;
};

class ValueAlgebra {
 public:
  ValueAlgebra(TypeParts& parts, const ProgramKnowledge& program)
      : parts_(parts), outer_(parts), program_(program) {}

  // What holds after two paths with these values have met. `meeting` becomes the definition where theirs
  // differ.
  Value Join(const Value& one, const Value& two, Definition meeting);
  Value Add(Value value, std::int64_t constant);
  // value + a number that varies.
  Value Index(Value value, const Value& number);
  // value * factor.
  Value Scale(const Value& value, std::int64_t factor);
  // one + two * scale.
  Value Sum(const Value& one, const Value& two, std::uint8_t scale);
  // value & constant.
  Value Mask(Value value, std::int64_t constant);
  // What a load of `width` bytes from `address` gives.
  Value Load(const Value& address, std::uint32_t width);
  // `value`, of which a variable that is valid here says `claim`.
  Value Refine(Value value, const Claim& claim);
  // `value`, of which a variable says `claim` at another place: only what cannot be wrong is taken.
  Value Enrich(Value value, const Claim& claim);
  // A constant that is the address of a variable becomes a pointer to it; other values stay.
  Value Resolved(const Value& value);
  // What `offset` in the per-CPU block is: a pointer to a variable, or unknown.
  Value PerCpu(std::int64_t offset);
  // Whether `constant` is no address: a null, an error code, a count.
  bool IsSmall(std::int64_t constant);

  // The global or per-CPU variable that a value has in `variable`.
  std::string_view NameOf(const Value& value) const { return names_[value.variable]; }
  TypeParts& parts() { return parts_; }
  OuterTypes& outer() { return outer_; }
  // An address by the object that a place of `width` bytes there lies in.
  Value Placed(const Value& address, std::uint32_t width) { return outer_.Around(Resolved(address), width); }

 private:
  Value JoinPointers(const Value& one, const Value& two);
  Value CommonPart(const Value& one, const Value& two);
  std::optional<Value> SameElement(const Value& one, const Value& two);
  Value IndexedConstant(const Value& constant, std::uint32_t stride);
  Value JoinNumbers(const Value& one, const Value& two);
  Value Merge(const Value& one, const Value& two);
  Value FromVariable(const GlobalVariable& found, std::uint64_t offset, Origin origin);
  std::uint32_t NumberOf(std::string_view name);

  TypeParts& parts_;
  OuterTypes outer_;
  const ProgramKnowledge& program_;
  std::vector<std::string_view> names_{""};
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
  std::unordered_map<std::int64_t, Value> resolved_;
};

}  // namespace linesmith
