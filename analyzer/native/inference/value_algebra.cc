// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/value_algebra.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace linesmith {
namespace {

// Errors and sentinels that stand in place of pointers: ERR_PTR, LIST_POISON, ZERO_SIZE_PTR.
constexpr std::int64_t kSmallest = -0x10000;
constexpr std::int64_t kLargest = 0x10000;
// Pointers carry flags in bits that alignment leaves free.
constexpr std::int64_t kMostFlagBits = 0xff;
// What any object is aligned to, less 1.
constexpr std::int64_t kMostAlignedBits = 0xf;

// Elements of arrays are smaller.
constexpr std::int64_t kLargestDivisor = std::int64_t{1} << 30;
constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

constexpr std::string_view kOffsetOfThisCpu = "this_cpu_off";
constexpr std::string_view kOffsetsOfCpus = "__per_cpu_offset";

std::int64_t Plus(std::int64_t one, std::int64_t two) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) + static_cast<std::uint64_t>(two));
}

std::int64_t Times(std::int64_t one, std::int64_t two) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(one) * static_cast<std::uint64_t>(two));
}

std::int64_t Distance(std::int64_t one, std::int64_t two) {
  const auto apart =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(one) - static_cast<std::uint64_t>(two));
  return apart == kLowest ? 1 : std::abs(apart);
}

// `start` + an unknown multiple of `step`, of which nothing is known when it is larger than elements are.
Value Steps(std::int64_t start, std::int64_t step) {
  return Value::Number(start, step > 1 && step <= kLargestDivisor ? static_cast<std::uint32_t>(step) : 1);
}

// `value` lies `bytes` farther behind what its definition made.
Value Moved(Value value, std::int64_t bytes) {
  value.delta =
      static_cast<std::int32_t>(static_cast<std::uint32_t>(value.delta) + static_cast<std::uint32_t>(bytes));
  if (bytes != static_cast<std::int32_t>(bytes)) value.definition = 0;
  return value;
}

// A value that is no address, as where it starts and by what it varies.
Value AsNumber(const Value& value) {
  if (value.kind == ValueKind::kNumber) return Value::Number(value.offset, value.stride);
  if (value.kind == ValueKind::kUnknown && value.definition != 0) return Value::Number(value.delta);
  return Value::Number();
}

// What an offset in the block is added to.
bool IsBlockStart(const Value& value) { return value.kind == ValueKind::kPerCpuBase && value.offset == 0; }

}  // namespace

// The kernel has its per-CPU offsets there, programs that can be loaded anywhere their first sections.
bool ValueAlgebra::IsSmall(std::int64_t constant) {
  if (constant <= kSmallest || constant >= kLargest) return false;
  if (program_.image().is_kernel() || constant <= 0) return true;
  GlobalVariable found;
  return !program_.VariableAt(static_cast<std::uint64_t>(constant), parts_.graph(), found);
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
  if (value.kind == ValueKind::kPerCpuBase && value.offset != 0) {
    Value found = PerCpu(value.offset);
    found.stride = value.stride;
    return found.IsPointer() ? found : value;
  }
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
    stack.stride = one.offset == two.offset ? std::gcd(one.stride, two.stride) : 1;
    return stack;
  }
  const Value left = Resolved(one);
  const Value right = Resolved(two);
  if (left.IsPointer() && right.IsPointer()) return JoinPointers(left, right);
  // What may have been written by others on one path may be anything here.
  if (left.foreign && right.kind <= ValueKind::kPointer) return left;
  if (right.foreign && left.kind <= ValueKind::kPointer) return right;
  const bool numbers = left.kind == ValueKind::kNumber || left.kind == ValueKind::kConstant;
  if (numbers && (right.kind == ValueKind::kNumber || right.kind == ValueKind::kConstant)) {
    return JoinNumbers(left, right);
  }
  if (left.kind == right.kind) {
    return left.kind == ValueKind::kPerCpuBase && left.offset != right.offset ? Value::Conflict() : left;
  }
  const bool left_wins = left.kind > right.kind;
  const Value& winner = left_wins ? left : right;
  const Value& loser = left_wins ? right : left;
  // An object on the stack in place of another one, or memory of a CPU in place of other memory.
  if (!loser.IsBlank() && loser.kind != ValueKind::kConstant) return Value::Conflict();
  return winner.kind == ValueKind::kConstant ? Value::Number() : winner;
}

// Counts from where the first one starts: that is the path which came here first.
Value ValueAlgebra::JoinNumbers(const Value& one, const Value& two) {
  if (one.kind == two.kind && one.offset == two.offset && one.stride == two.stride) return one;
  const std::int64_t steps = std::gcd(std::int64_t{one.stride}, std::int64_t{two.stride});
  return Steps(one.offset, std::gcd(steps, Distance(one.offset, two.offset)));
}

Value ValueAlgebra::JoinPointers(const Value& one, const Value& two) {
  Value joined = one;
  joined.origin = one.origin == two.origin ? one.origin : Origin::kFlow;
  joined.variable = one.variable == two.variable ? one.variable : 0;
  if (joined.variable == 0 && joined.origin >= Origin::kGlobal) joined.origin = Origin::kFlow;
  joined.stride = std::gcd(one.stride, two.stride);
  if (one.type == two.type && one.offset == two.offset) return joined;
  // A `void *` is what the code behind casts it to.
  if (!parts_.IsKnown(one.type)) return one;
  if (!parts_.IsKnown(two.type)) return two;
  if (const std::optional<Value> same = SameElement(one, two)) {
    joined.offset = same->offset;
    joined.stride = same->stride;
    return joined;
  }
  return CommonPart(one, two);
}

// The same place of different elements of one array.
std::optional<Value> ValueAlgebra::SameElement(const Value& one, const Value& two) {
  if (one.type != two.type) return std::nullopt;
  const std::int64_t apart = Distance(one.offset, two.offset);
  const std::int64_t stride = std::gcd(apart, std::int64_t{std::gcd(one.stride, two.stride)});
  if (stride > kLargestDivisor) return std::nullopt;
  const auto step = static_cast<std::uint32_t>(stride);
  const std::optional<std::int64_t> first = parts_.WholeElement(one.type, one.offset, step);
  if (!first || first != parts_.WholeElement(two.type, two.offset, step)) return std::nullopt;
  Value same = Value::Pointer(one.type, *first);
  same.stride = step;
  return same;
}

// Objects of one type inside different ones (a list's head, and the link in its first entry): what both are.
Value ValueAlgebra::CommonPart(const Value& one, const Value& two) {
  if (one.stride != 0 || two.stride != 0) return Value::Conflict();
  for (const bool first : {true, false}) {
    const Value& known = first ? one : two;
    const Value& other = first ? two : one;
    for (const Part& part : parts_.Holders(known.type, known.offset)) {
      const auto inside = static_cast<std::int64_t>(part.offset);
      if (!parts_.Holds(other.type, other.offset - inside, part.type)) continue;
      return Value::Pointer(part.type, inside);
    }
  }
  return Value::Conflict();
}

Value ValueAlgebra::Add(Value value, std::int64_t constant) {
  if (constant == 0) return value;
  const Value before = value;
  value = Moved(value, constant);
  switch (value.kind) {
    case ValueKind::kConstant:
    case ValueKind::kStack:
    case ValueKind::kPointer:
    case ValueKind::kPerCpuBase:
      value.offset = Plus(value.offset, constant);
      return value;
    case ValueKind::kUnknown:
    case ValueKind::kNumber:
      if (!IsSmall(constant)) return Index(Value::Constant(constant), AsNumber(before));
      if (value.kind == ValueKind::kNumber) value.offset = Plus(value.offset, constant);
      return value;
    default:
      return value;
  }
}

Value ValueAlgebra::Index(Value value, const Value& number) {
  const Value steps = AsNumber(number);
  if (value.kind == ValueKind::kNumber) {
    return Steps(Plus(value.offset, steps.offset), std::gcd(value.stride, steps.stride));
  }
  if (value.kind == ValueKind::kConstant) {
    value = IndexedConstant(Value::Constant(Plus(value.offset, steps.offset)), steps.stride);
    if (value.kind == ValueKind::kConstant) {
      return IsSmall(value.offset) ? Steps(value.offset, steps.stride) : Value::Number();
    }
  } else {
    value.offset = Plus(value.offset, steps.offset);
  }
  if (value.IsBlank()) return Value::Unknown();
  value.definition = 0;
  value.delta = 0;
  value.stride = std::gcd(value.stride, steps.stride);
  return value;
}

// An index that does not start at 0 may leave the constant in front of its array.
Value ValueAlgebra::IndexedConstant(const Value& constant, std::uint32_t stride) {
  const Value here = Resolved(constant);
  if (IsSmall(constant.offset)) return here;
  if (here.IsPointer() && parts_.WholeElement(here.type, here.offset, stride)) return here;
  Value behind = Resolved(Value::Constant(Plus(constant.offset, std::int64_t{stride})));
  if (!behind.IsPointer() || behind.offset >= std::int64_t{stride}) return here;
  if (!parts_.WholeElement(behind.type, behind.offset, stride)) return here;
  behind.offset -= std::int64_t{stride};
  return behind;
}

Value ValueAlgebra::Scale(const Value& value, std::int64_t factor) {
  if (value.kind == ValueKind::kConstant) return Value::Constant(Times(value.offset, factor));
  if (factor <= 0 || factor > kLargestDivisor) return Value::Number();
  const Value number = AsNumber(value);
  return Steps(Times(number.offset, factor), number.stride * factor);
}

Value ValueAlgebra::Sum(const Value& one, const Value& two, std::uint8_t scale) {
  if (one.kind == ValueKind::kUnset || two.kind == ValueKind::kUnset) return Value::Unknown();
  if (two.kind == ValueKind::kConstant) return Add(one, Times(two.offset, scale));
  if (scale == 1) {
    if (one.kind == ValueKind::kConstant) return Add(two, one.offset);
    // What is added to it in a kernel is a pointer to a variable of all CPUs.
    if (program_.image().is_kernel() && (IsBlockStart(one) || IsBlockStart(two))) {
      return IsBlockStart(one) ? two : one;
    }
    if (one.IsBlank() && !two.IsBlank()) return Index(two, one);
    // Which of two pointers is the number that was cast cannot be told.
    if (!one.IsBlank() && !two.IsBlank()) return Value::Unknown();
  }
  if (one.kind != ValueKind::kUnknown) return Index(one, Scale(two, scale));
  // Of two values that are not known, one may still turn out to be a pointer; what is added to them is kept.
  const Value sum = Index(AsNumber(one), Scale(two, scale));
  return sum.offset != 0 ? sum : Value::Unknown();
}

// Objects begin at multiples of what their pointers have free for flags.
Value ValueAlgebra::Mask(Value value, std::int64_t constant) {
  if (value.kind == ValueKind::kConstant) return Value::Constant(value.offset & constant);
  if (value.kind == ValueKind::kStack) {
    value.stride = 1;
    return value;
  }
  if (constant < 0 && ~constant <= kMostFlagBits && value.IsPointer()) {
    const std::int64_t cleared = value.offset & ~constant;
    if (cleared > kMostAlignedBits) return Value::Number();
    const auto granule = static_cast<std::uint32_t>(-constant);
    if (value.stride % granule != 0) value.stride = granule;
    value.offset -= cleared;
    value = Moved(value, -cleared);
    return value;
  }
  return constant == kLowest ? Value::Number() : Steps(0, constant & -constant);
}

Value ValueAlgebra::Load(const Value& address, std::uint32_t width) {
  const std::uint8_t word = 8;
  if (address.kind == ValueKind::kConstant && width == word) {
    const auto fixed = program_.image().FixedWord(static_cast<std::uint64_t>(address.offset));
    if (fixed) return Value::Constant(*fixed);
  }
  const Value from = Placed(address, width);
  if (!from.IsPointer()) return width == word ? Value::Unknown() : Value::Number();
  const bool named = from.variable != 0;
  if (named && width == word && (NameOf(from) == kOffsetOfThisCpu || NameOf(from) == kOffsetsOfCpus)) {
    return Value::PerCpuBase();
  }
  std::optional<std::int64_t> place = parts_.Element(from.type, from.offset, from.stride);
  if (parts_.IsPlain(from.type)) place = parts_.Wrapped(from.type, from.offset);
  const Content content = place ? parts_.ContentAt(from.type, *place, width) : Content{};
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
  if (value.kind == ValueKind::kStack || IsBlockStart(value)) return value;
  if (value.kind != ValueKind::kPointer && Resolved(value).IsPointer()) return value;
  Value claimed = Value::Pointer(claim.type, claim.offset, Origin::kVariable);
  claimed.definition = value.definition;
  claimed.delta = value.delta;
  const bool typed = value.IsPointer() && parts_.IsKnown(value.type);
  if (!parts_.IsKnown(claim.type)) return typed ? value : claimed;
  if (!typed) return claimed;
  if (value.type == claim.type && value.stride == 0 && value.offset == claim.offset) {
    if (value.origin == Origin::kFlow) value.origin = Origin::kVariable;
    return value;
  }
  const std::int64_t begin = value.offset - claim.offset;
  const std::optional<std::int64_t> place = parts_.Element(value.type, begin, value.stride);
  const bool itself = value.type == claim.type && value.origin < Origin::kGlobal;
  if (place && !itself && parts_.Holds(value.type, *place, claim.type)) return value;
  // A record seen as numbers (flag words, copies) says more than the numbers.
  const bool inside =
      value.offset >= 0 && value.offset < static_cast<std::int64_t>(parts_.graph()[value.type].size);
  if (parts_.IsPlain(claim.type) && !parts_.IsPlain(value.type) && inside) return value;
  return claimed;
}

Value ValueAlgebra::Enrich(Value value, const Claim& claim) {
  if (!parts_.IsKnown(claim.type)) return value;
  const bool blank = value.IsBlank() || (value.IsPointer() && !parts_.IsKnown(value.type));
  const bool part = value.IsPointer() && value.stride == 0 && !blank && !parts_.IsPlain(claim.type) &&
                    value.type != claim.type &&
                    parts_.Holds(claim.type, claim.offset - value.offset, value.type);
  if (!blank && !part) return value;
  Value enriched = Value::Pointer(claim.type, claim.offset);
  enriched.definition = value.definition;
  enriched.delta = value.delta;
  return enriched;
}

}  // namespace linesmith
