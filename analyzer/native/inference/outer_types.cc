// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/outer_types.h"

#include <algorithm>

namespace linesmith {
namespace {

// Links of lists, locks and the like are parts of too many records to tell which one is around them.
constexpr std::uint64_t kLeastBytes = 64;
constexpr std::size_t kDeepest = 12;
constexpr std::size_t kMostPlaces = 8;
constexpr std::size_t kMostMentioned = 2000;
constexpr std::size_t kMostAsked = 300;
// Records nest a few hundred others at most; those of a made-up file could nest without end.
constexpr unsigned kMostFields = 20'000;
constexpr std::uint32_t kMostLearnt = 1000;

void LeaveOnce(std::vector<TypeId>& types) {
  std::ranges::sort(types);
  const auto repeated = std::ranges::unique(types);
  types.erase(repeated.begin(), repeated.end());
  if (types.size() > kMostAsked) types.resize(kMostAsked);
}

}  // namespace

void OuterTypes::EnterUnit(const std::vector<TypeId>& inlined_results) {
  for (const TypeId result : inlined_results) Mention(result, of_unit_);
  LeaveOnce(of_unit_);
}

// Inlined functions that convert pointers often leave no trace in the function, so all of the unit count.
void OuterTypes::Enter(const FunctionFacts* facts) {
  mentioned_.clear();
  if (facts == nullptr) return;
  mentioned_ = of_unit_;
  for (const InlinedCall& call : facts->inlined) Mention(call.result, mentioned_);
  for (const VariablePlace& place : facts->places) Mention(place.type, mentioned_);
  for (const TypeId parameter : facts->parameters) Mention(parameter, mentioned_);
  Mention(facts->result, mentioned_);
  LeaveOnce(mentioned_);
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
  std::optional<Part> found = InHolder(address, width);
  if (!found) found = BehindIt(address, width);
  if (!found) found = BeforeIt(address, width);
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
std::optional<Part> OuterTypes::InHolder(const Value& address, std::uint32_t width) {
  std::optional<Part> found;
  for (const TypeId whole : mentioned_) {
    for (const Holders& holders : HoldersIn(whole, address.type)) {
      const std::optional<Part> part = Innermost(holders, address.offset, width);
      if (!part) continue;
      const auto apart = [](const Part& outer, const Part& inner) {
        return static_cast<std::int64_t>(outer.offset) - static_cast<std::int64_t>(inner.offset);
      };
      if (!found || parts_.Holds(found->type, apart(*found, *part), part->type)) {
        found = part;
      } else if (!parts_.Holds(part->type, apart(*part, *found), found->type)) {
        return std::nullopt;
      }
    }
  }
  return found;
}

// The place `offset` bytes from what they hold, in the last one that it lies in.
std::optional<Part> OuterTypes::Innermost(const Holders& holders, std::int64_t offset,
                                          std::uint32_t width) const {
  for (auto holder = holders.rbegin(); holder != holders.rend(); ++holder) {
    const std::int64_t place = static_cast<std::int64_t>(holder->offset) + offset;
    if (Fits(holder->type, place, width)) return Part{holder->type, static_cast<std::uint64_t>(place)};
  }
  return std::nullopt;
}

const std::vector<OuterTypes::Holders>& OuterTypes::HoldersIn(TypeId whole, TypeId part) {
  const auto [known, fresh] = holders_.try_emplace({whole, part});
  if (!fresh) return known->second;
  unsigned left = kMostFields;
  Holders path{{whole, 0}};
  if (whole != part) Collect(path, part, left, known->second);
  return known->second;
}

// `path` leads to the record that is looked at: types, and where they begin in the first of them.
void OuterTypes::Collect(Holders& path, TypeId part, unsigned& left, std::vector<Holders>& found) {
  if (path.size() > kDeepest) return;
  const Part last = path.back();
  for (const Field& field : parts_.graph().Fields(last.type)) {
    if (left == 0 || found.size() >= kMostPlaces) return;
    --left;
    const TypeNode& node = parts_.graph()[field.type];
    if (node.kind != TypeKind::kRecord || node.size < parts_.graph()[part].size) continue;
    const std::uint64_t place = last.offset + field.offset;
    if (field.type == part) {
      found.push_back(path);
      for (Part& holder : found.back()) holder.offset = place - holder.offset;
    } else {
      path.push_back({field.type, place});
      Collect(path, part, left, found);
      path.pop_back();
    }
  }
}

}  // namespace linesmith
