// SPDX-License-Identifier: GPL-2.0-or-later
// What variables said of values, kept for the places where the variables do not say it: compilers let the
// range of a variable begin behind the first uses of its value.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inference/dominators.h"
#include "inference/value_algebra.h"

namespace linesmith {

class LearntClaims {
 public:
  explicit LearntClaims(TypeParts& parts) : parts_(parts) {}

  // Notes what a variable that is valid in `block` says of what `definition` made.
  void Learn(Definition definition, const Claim& claim, std::uint32_t block);
  // Notes that the value is a `void *`: one path may take it for this, another one for that, so that a claim
  // holds only on the way to the block that it was learnt in, and from there on.
  void LearnUntyped(Definition definition);
  // To be called between the last claim and the first question.
  void Settle(const ControlFlow& flow) { dominators_.emplace(flow); }

  // What holds wherever the value is; null where that is nothing, or the value is a `void *`. Claims that
  // cannot both hold cancel each other.
  const Claim* Everywhere(Definition definition) const;
  // What holds of a `void *` in `block`.
  std::optional<Claim> Within(Definition definition, std::uint32_t block) const;
  // All that holds in `block`, whether it can be true at once or not.
  std::vector<Claim> All(Definition definition, std::uint32_t block) const;
  bool empty() const { return values_.empty(); }

 private:
  // Claims that were put together; cancelled where they cannot all hold.
  struct Sum {
    Claim claim;
    bool cancelled = false;
  };
  struct LocalClaim {
    Claim claim;
    std::uint32_t block = 0;
  };
  struct Learnt {
    std::optional<Sum> sum;
    std::vector<LocalClaim> claims;
    bool untyped = false;
  };

  void Put(const Claim& claim, std::optional<Sum>& sum) const;

  TypeParts& parts_;
  std::optional<Dominators> dominators_;
  std::unordered_map<Definition, Learnt> values_;
};

}  // namespace linesmith
