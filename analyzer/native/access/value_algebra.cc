// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/value_algebra.h"

#include <algorithm>

namespace linesmith {
namespace {

// Errors and sentinels that stand in place of pointers: ERR_PTR, LIST_POISON, ZERO_SIZE_PTR.
constexpr std::int64_t kSmallest = -0x10000;
constexpr std::int64_t kLargest = 0x10000;
// Pointers carry flags in bits that alignment leaves free.
constexpr std::int64_t kMostFlagBits = 0xff;

constexpr std::string_view kOffsetOfThisCpu = "this_cpu_off";
constexpr std::string_view kOffsetsOfCpus = "__per_cpu_offset";

Value PerCpuBase() { return {.kind = ValueKind::kPerCpuBase}; }

}  // namespace

bool ValueAlgebra::IsSmall(std::int64_t address) const {
  return address > kSmallest && address < kLargest &&
         program_.image().At(static_cast<std::uint64_t>(address)).empty();
}

std::uint32_t ValueAlgebra::NumberOf(std::string_view name) {
  const auto [place, fresh] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (fresh) names_.push_back(name);
  return place->second;
}

Value ValueAlgebra::FromVariable(const GlobalVariable& found, std::uint64_t offset, Origin origin) {
  Value value = Value::Pointer(found.type, static_cast<std::int64_t>(offset), origin);
  value.variable = NumberOf(found.name);
  return value;
}

Value ValueAlgebra::Resolved(const Value& value) {
  if (value.kind != ValueKind::kConstant || IsSmall(value.offset)) return value;
  if (const auto known = resolved_.find(value.offset); known != resolved_.end()) return known->second;
  GlobalVariable found;
  const auto address = static_cast<std::uint64_t>(value.offset);
  Value result = value;
  if (program_.VariableAt(address, parts_.graph(), found)) {
    result = FromVariable(found, address - found.address, Origin::kGlobal);
  }
  return resolved_[value.offset] = result;
}

Value ValueAlgebra::PerCpu(std::int64_t offset) {
  GlobalVariable found;
  const auto place = static_cast<std::uint64_t>(offset);
  if (!program_.PerCpuAt(place, parts_.graph(), found)) return Value::Unknown();
  return FromVariable(found, place - found.address, Origin::kPerCpu);
}

Value ValueAlgebra::Join(const Value& one, const Value& two, Definition meeting) {
  if (one == two || two.kind == ValueKind::kUnset) return one;
  if (one.kind == ValueKind::kUnset) return two;
  const bool same = one.definition == two.definition && one.delta == two.delta;
  Value joined = Merge(one, two);
  joined.definition = same ? one.definition : meeting;
  joined.delta = same ? one.delta : 0;
  if (joined.kind == ValueKind::kConflict) joined = Value::Conflict();
  return joined;
}

Value ValueAlgebra::Merge(const Value& one, const Value& two) {
  if (one.kind == ValueKind::kConflict || two.kind == ValueKind::kConflict) return Value::Conflict();
  if (one.kind == ValueKind::kStack && two.kind == ValueKind::kStack) {
    Value stack = one;
    stack.index_scale = one.offset == two.offset ? std::max(one.index_scale, two.index_scale) : 1;
    return stack;
  }
  const Value left = Resolved(one);
  const Value right = Resolved(two);
  if (left.IsPointer() && right.IsPointer()) return JoinPointers(left, right);
  if (left.kind == right.kind && left.kind != ValueKind::kConstant) {
    return left.kind == ValueKind::kPerCpuBase && left.offset != right.offset ? Value::Conflict() : left;
  }
  const bool left_wins = left.kind > right.kind;
  const Value& winner = left_wins ? left : right;
  const Value& loser = left_wins ? right : left;
  if (left.kind == right.kind) return left.offset == right.offset ? left : Value::Number();
  // An object on the stack in place of another one, or memory of a CPU in place of other memory.
  if (!loser.IsBlank() && loser.kind != ValueKind::kConstant) return Value::Conflict();
  return winner.kind == ValueKind::kConstant ? Value::Number() : winner;
}

Value ValueAlgebra::JoinPointers(const Value& one, const Value& two) {
  Value joined = one;
  joined.origin = one.origin == two.origin ? one.origin : Origin::kFlow;
  joined.variable = one.variable == two.variable ? one.variable : 0;
  if (joined.variable == 0 && joined.origin >= Origin::kGlobal) joined.origin = Origin::kFlow;
  joined.index_scale = std::max(one.index_scale, two.index_scale);
  if (one.type == two.type && one.offset == two.offset) return joined;
  if (!parts_.IsKnown(one.type) || !parts_.IsKnown(two.type)) {
    const bool first = parts_.IsKnown(one.type);
    joined.type = first ? one.type : two.type;
    joined.offset = first ? one.offset : two.offset;
    return joined;
  }
  if (one.type == two.type && SameElement(one, two)) {
    joined.offset = parts_.FirstElement(one.type, parts_.Wrapped(one.type, one.offset));
    if (joined.index_scale == 0) joined.index_scale = 1;
    return joined;
  }
  return CommonPart(one, two);
}

bool ValueAlgebra::SameElement(const Value& one, const Value& two) {
  const auto first = [&](std::int64_t offset) { return parts_.FirstElement(one.type, offset); };
  if (first(one.offset) == first(two.offset)) return true;
  const auto wrapped = [&](std::int64_t offset) { return first(parts_.Wrapped(one.type, offset)); };
  return wrapped(one.offset) == wrapped(two.offset);
}

// Objects of one type inside different ones (a list's head, and the link in its first entry): what both are.
Value ValueAlgebra::CommonPart(const Value& one, const Value& two) {
  const std::uint8_t scale = std::max(one.index_scale, two.index_scale);
  for (const bool first : {true, false}) {
    const Value& known = first ? one : two;
    const Value& other = first ? two : one;
    for (const Part& part : parts_.Holders(known.type, known.offset)) {
      const auto inside = static_cast<std::int64_t>(part.offset);
      if (!parts_.Holds(other.type, other.offset - inside, part.type)) continue;
      Value common = Value::Pointer(part.type, inside);
      common.index_scale = scale;
      return common;
    }
  }
  return Value::Conflict();
}

Value ValueAlgebra::Add(Value value, std::int64_t constant) {
  if (constant == 0) return value;
  const auto plus = [constant](std::int64_t number) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) +
                                     static_cast<std::uint64_t>(constant));
  };
  value.delta = static_cast<std::int32_t>(static_cast<std::uint32_t>(value.delta) +
                                          static_cast<std::uint32_t>(constant));
  if (value.definition != 0 && (constant != static_cast<std::int32_t>(constant))) value.definition = 0;
  switch (value.kind) {
    case ValueKind::kConstant:
    case ValueKind::kStack:
    case ValueKind::kPointer:
      value.offset = plus(value.offset);
      if (value.origin == Origin::kVariable) value.origin = Origin::kFlow;
      return value;
    case ValueKind::kPerCpuBase:
      return PerCpu(plus(value.offset));
    case ValueKind::kUnknown:
    case ValueKind::kNumber:
      if (IsSmall(constant)) return value;
      return Index(Value::Constant(constant), 1);
    default:
      return value;
  }
}

Value ValueAlgebra::Index(Value value, std::uint8_t scale) {
  value = Resolved(value);
  value.definition = 0;
  value.delta = 0;
  value.index_scale = std::max<std::uint8_t>(value.index_scale, scale == 0 ? 1 : scale);
  if (value.kind == ValueKind::kConstant || value.kind == ValueKind::kPerCpuBase) return Value::Number();
  if (value.IsBlank()) return {.kind = value.kind};
  return value;
}

Value ValueAlgebra::Sum(const Value& one, const Value& two, std::uint8_t scale) {
  if (one.kind == ValueKind::kUnset || two.kind == ValueKind::kUnset) return Value::Unknown();
  if (two.kind == ValueKind::kConstant) {
    return Add(one, static_cast<std::int64_t>(static_cast<std::uint64_t>(two.offset) * scale));
  }
  if (scale == 1) {
    if (one.kind == ValueKind::kConstant) return Add(two, one.offset);
    const bool base_first = one.kind == ValueKind::kPerCpuBase;
    if (base_first || two.kind == ValueKind::kPerCpuBase) return base_first ? two : one;
    if (one.IsBlank() && !two.IsBlank()) return Index(two, 1);
    // Which of two pointers is the number that was cast cannot be told.
    if (!one.IsBlank() && !two.IsBlank()) return Value::Unknown();
  }
  return Index(one, scale);
}

Value ValueAlgebra::Mask(Value value, std::int64_t constant) {
  if (value.kind == ValueKind::kConstant) return Value::Constant(value.offset & constant);
  const bool clears_flags = constant < 0 && ~constant <= kMostFlagBits;
  if (value.kind == ValueKind::kStack) {
    value.index_scale = 1;
    return value;
  }
  if (clears_flags && value.IsPointer()) return value;
  return Value::Number();
}

Value ValueAlgebra::Load(const Value& address, std::uint32_t width) {
  const Value from = Resolved(address);
  const std::uint8_t word = 8;
  if (!from.IsPointer()) return width == word ? Value::Unknown() : Value::Number();
  const bool named = from.variable != 0;
  if (named && width == word && (NameOf(from) == kOffsetOfThisCpu || NameOf(from) == kOffsetsOfCpus)) {
    return PerCpuBase();
  }
  std::int64_t offset = from.offset;
  if (from.index_scale != 0 || parts_.IsPlain(from.type)) offset = parts_.Wrapped(from.type, offset);
  const Content content = parts_.ContentAt(from.type, offset, width);
  switch (content.kind) {
    case Content::Kind::kPointer:
      return Value::Pointer(content.target);
    case Content::Kind::kNumber:
      return Value::Number();
    case Content::Kind::kNothing:
      break;
  }
  return Value::Unknown();
}

Value ValueAlgebra::Refine(Value value, const Claim& claim) {
  if (value.kind == ValueKind::kStack || value.kind == ValueKind::kPerCpuBase) return value;
  if (value.kind == ValueKind::kConstant && Resolved(value).IsPointer()) return value;
  Value claimed = Value::Pointer(claim.type, claim.offset, Origin::kVariable);
  claimed.definition = value.definition;
  claimed.delta = value.delta;
  const bool typed = value.IsPointer() && parts_.IsKnown(value.type);
  if (!parts_.IsKnown(claim.type)) return typed ? value : claimed;
  if (!typed) return claimed;
  if (value.type == claim.type && (value.offset == claim.offset || value.index_scale != 0)) {
    if (value.origin == Origin::kFlow) value.origin = Origin::kVariable;
    return value;
  }
  if (parts_.Holds(value.type, value.offset - claim.offset, claim.type)) return value;
  if (value.index_scale != 0 &&
      parts_.Holds(value.type, parts_.Wrapped(value.type, value.offset - claim.offset), claim.type)) {
    return value;
  }
  // A record seen as numbers (flag words, copies) says more than the numbers.
  const bool inside =
      value.offset >= 0 && value.offset < static_cast<std::int64_t>(parts_.graph()[value.type].size);
  if (parts_.IsPlain(claim.type) && !parts_.IsPlain(value.type) && inside) return value;
  return claimed;
}

Value ValueAlgebra::Enrich(Value value, const Claim& claim) {
  if (!parts_.IsKnown(claim.type)) return value;
  const bool blank = value.IsBlank() || (value.IsPointer() && !parts_.IsKnown(value.type));
  const bool part = value.IsPointer() && !blank && !parts_.IsPlain(claim.type) && value.type != claim.type &&
                    parts_.Holds(claim.type, claim.offset - value.offset, value.type);
  if (!blank && !part) return value;
  Value enriched = Value::Pointer(claim.type, claim.offset);
  enriched.definition = value.definition;
  enriched.delta = value.delta;
  return enriched;
}

}  // namespace linesmith
