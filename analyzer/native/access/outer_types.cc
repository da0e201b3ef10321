// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/outer_types.h"

#include <algorithm>

namespace linesmith {
namespace {

// Links of lists, locks and the like are parts of too many records to tell which one is around them.
constexpr std::uint64_t kLeastBytes = 64;
constexpr unsigned kDeepest = 12;
constexpr std::size_t kMostPlaces = 8;
constexpr std::size_t kMostMentioned = 200;
// Records nest a few hundred others at most; those of a made-up file could nest without end.
constexpr unsigned kMostFields = 20'000;
constexpr std::uint32_t kMostLearnt = 1000;

void LeaveOnce(std::vector<TypeId>& types) {
  std::ranges::sort(types);
  const auto repeated = std::ranges::unique(types);
  types.erase(repeated.begin(), repeated.end());
}

}  // namespace

void OuterTypes::EnterUnit(const std::vector<TypeId>& inlined_results) {
  for (const TypeId result : inlined_results) Mention(result, of_unit_);
  LeaveOnce(of_unit_);
}

void OuterTypes::Enter(const FunctionFacts* facts) {
  of_function_.clear();
  if (facts == nullptr) return;
  for (const InlinedCall& call : facts->inlined) Mention(call.result, of_function_);
  for (const VariablePlace& place : facts->places) Mention(place.type, of_function_);
  for (const TypeId parameter : facts->parameters) Mention(parameter, of_function_);
  Mention(facts->result, of_function_);
  LeaveOnce(of_function_);
}

void OuterTypes::Mention(TypeId pointer, std::vector<TypeId>& mentioned) const {
  const TypeNode& node = parts_.graph()[pointer];
  if (node.kind != TypeKind::kPointer || mentioned.size() >= kMostMentioned) return;
  const TypeNode& target = parts_.graph()[node.target];
  if (target.kind == TypeKind::kRecord && target.size > kLeastBytes) mentioned.push_back(node.target);
}

void OuterTypes::Learn(const Value& holder, std::int64_t start, TypeId type) {
  const TypeNode& node = parts_.graph()[holder.type];
  if (!holder.IsPointer() || holder.stride != 0 || node.kind != TypeKind::kRecord) return;
  if (node.size < kLeastBytes || start < static_cast<std::int64_t>(node.size)) return;
  const TypeNode& behind = parts_.graph()[type];
  if (behind.kind != TypeKind::kRecord || behind.size < kLeastBytes || learnt_ >= kMostLearnt) return;
  std::vector<Behind>& known = behind_[holder.type];
  const auto place = std::ranges::lower_bound(known, start, {}, &Behind::start);
  if (place == known.end() || place->start != start) {
    known.insert(place, {start, type});
    ++learnt_;
  } else if (place->type != type && place->type != kVoid) {
    place->type = kVoid;
    ++learnt_;
  }
}

bool OuterTypes::IsOutside(const Value& address, std::uint32_t width) const {
  if (!address.IsPointer() || address.stride != 0) return false;
  const TypeNode& node = parts_.graph()[address.type];
  if (node.kind != TypeKind::kRecord || node.size < kLeastBytes) return false;
  if (Fits(address.type, address.offset, width)) return false;
  // An open array at its end still belongs to a record.
  return address.offset < 0 ||
         !parts_.graph().Leaf(address.type, static_cast<std::uint64_t>(address.offset), width);
}

bool OuterTypes::Fits(TypeId type, std::int64_t offset, std::uint32_t width) const {
  const auto size = static_cast<std::int64_t>(parts_.graph()[type].size);
  return offset >= 0 && offset + std::int64_t{width} <= size;
}

Value OuterTypes::Around(const Value& address, std::uint32_t width) {
  if (!IsOutside(address, width)) return address;
  std::optional<Part> found = InHolder(address, width, of_function_);
  if (!found) found = BehindIt(address, width);
  if (!found) found = BeforeIt(address, width);
  if (!found) found = InHolder(address, width, of_unit_);
  if (!found) return address;
  Value outer = address;
  outer.type = found->type;
  outer.offset = static_cast<std::int64_t>(found->offset);
  outer.origin = Origin::kFlow;
  outer.variable = 0;
  return outer;
}

// Of what lies there the record that holds the rest.
std::optional<Part> OuterTypes::BehindIt(const Value& address, std::uint32_t width) {
  const auto known = behind_.find(address.type);
  if (known == behind_.end()) return std::nullopt;
  const Behind* found = nullptr;
  for (const Behind& behind : known->second) {
    if (behind.type == kVoid || !Fits(behind.type, address.offset - behind.start, width)) continue;
    if (found == nullptr) {
      found = &behind;
    } else if (!parts_.Holds(found->type, behind.start - found->start, behind.type)) {
      return std::nullopt;
    }
  }
  if (found == nullptr) return std::nullopt;
  return Part{found->type, static_cast<std::uint64_t>(address.offset - found->start)};
}

// In the record in front of what lies behind it.
std::optional<Part> OuterTypes::BeforeIt(const Value& address, std::uint32_t width) const {
  std::optional<Part> found;
  for (const auto& [holder, parts] : behind_) {
    for (const Behind& behind : parts) {
      const std::int64_t offset = address.offset + behind.start;
      if (behind.type != address.type || !Fits(holder, offset, width)) continue;
      if (found) return std::nullopt;
      found = Part{holder, static_cast<std::uint64_t>(offset)};
    }
  }
  return found;
}

// Of records that hold each other the smallest one says enough; of others only one may fit.
std::optional<Part> OuterTypes::InHolder(const Value& address, std::uint32_t width,
                                         const std::vector<TypeId>& holders) {
  std::optional<Part> found;
  for (const TypeId whole : holders) {
    if (whole == address.type) continue;
    for (const std::int64_t place : PlacesIn(whole, address.type)) {
      const std::int64_t offset = place + address.offset;
      if (!Fits(whole, offset, width)) continue;
      const Part part{whole, static_cast<std::uint64_t>(offset)};
      const auto apart = [&](const Part& outer, const Part& inner) {
        return static_cast<std::int64_t>(outer.offset) - static_cast<std::int64_t>(inner.offset);
      };
      if (!found || parts_.Holds(found->type, apart(*found, part), whole)) {
        found = part;
      } else if (!parts_.Holds(whole, apart(part, *found), found->type)) {
        return std::nullopt;
      }
    }
  }
  return found;
}

const std::vector<std::int64_t>& OuterTypes::PlacesIn(TypeId whole, TypeId part) {
  const auto [known, fresh] = places_.try_emplace({whole, part});
  unsigned left = kMostFields;
  if (fresh) Collect({whole, 0}, part, 0, left, known->second);
  return known->second;
}

void OuterTypes::Collect(const Part& whole, TypeId part, unsigned depth, unsigned& left,
                         std::vector<std::int64_t>& places) {
  if (depth > kDeepest) return;
  for (const Field& field : parts_.graph().Fields(whole.type)) {
    if (left == 0 || places.size() >= kMostPlaces) return;
    --left;
    const TypeNode& node = parts_.graph()[field.type];
    if (node.kind != TypeKind::kRecord || node.size < parts_.graph()[part].size) continue;
    const Part inner{field.type, whole.offset + field.offset};
    if (field.type == part) {
      places.push_back(static_cast<std::int64_t>(inner.offset));
    } else {
      Collect(inner, part, depth + 1, left, places);
    }
  }
}

}  // namespace linesmith
