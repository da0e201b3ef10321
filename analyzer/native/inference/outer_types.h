// SPDX-License-Identifier: GPL-2.0-or-later
// What lies around an object: code that is given a member knows the record around it (container_of), code
// that is given a record may know of memory behind it (netdev_priv).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "inference/value.h"
#include "program/function_facts.h"
#include "types/type_parts.h"

namespace linesmith {

// Of one unit, since its functions agree on what lies behind a record.
class OuterTypes {
 public:
  explicit OuterTypes(TypeParts& parts) : parts_(parts) {}

  // Types that the unit's functions may be given by inlined ones.
  void EnterUnit(const std::vector<TypeId>& inlined_results);
  // From now on questions come from that function (null: one of which nothing is known), and are answered
  // with the types that it speaks of.
  void Enter(const FunctionFacts* facts);
  // Notes that an object of `type` begins `start` bytes into the object that `holder` leads to.
  void Learn(const Value& holder, std::int64_t start, TypeId type);
  // How often something was learnt that nobody knew.
  std::uint32_t learnt() const { return learnt_; }
  // An address outside of its record as one of what lies there, if only one type can; other addresses stay.
  Value Around(const Value& address, std::uint32_t width);

 private:
  // Records that hold each other and at last some part, outermost first, with the part's offset in each.
  using Holders = std::vector<Part>;

  struct Behind {
    std::int64_t start = 0;
    TypeId type = kVoid;  // kVoid: functions disagree
  };

  bool IsOutside(const Value& address, std::uint32_t width) const;
  std::optional<Part> InHolder(const Value& address, std::uint32_t width);
  std::optional<Part> Innermost(const Holders& holders, std::int64_t offset, std::uint32_t width) const;
  std::optional<Part> BeforeIt(const Value& address, std::uint32_t width) const;
  std::optional<Part> BehindIt(const Value& address, std::uint32_t width);
  const std::vector<Holders>& HoldersIn(TypeId whole, TypeId part);
  void Collect(Holders& path, TypeId part, unsigned& left, std::vector<Holders>& found);
  bool Fits(TypeId type, std::int64_t offset, std::uint32_t width) const;
  void Mention(TypeId pointer, std::vector<TypeId>& mentioned) const;

  TypeParts& parts_;
  std::vector<TypeId> of_unit_;
  std::vector<TypeId> mentioned_;  // by the unit's inlined functions, and by the function
  std::map<std::pair<TypeId, TypeId>, std::vector<Holders>> holders_;
  std::map<TypeId, std::vector<Behind>> behind_;
  std::uint32_t learnt_ = 0;
};

}  // namespace linesmith
