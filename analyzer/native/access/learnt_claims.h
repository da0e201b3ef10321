// SPDX-License-Identifier: GPL-2.0-or-later
// What variables said of values, kept for the places where the variables do not say it: compilers let the
// range of a variable begin behind the first uses of its value.
#pragma once

#include <unordered_map>

#include "access/value_algebra.h"

namespace linesmith {

class LearntClaims {
 public:
  explicit LearntClaims(TypeParts& parts) : parts_(parts) {}

  // Notes what a variable says of what `definition` made. Claims that cannot both hold (a `void *` that is
  // cast to one type here, to another one there) cancel each other.
  void Learn(Definition definition, const Claim& claim);
  // Null where nothing is known.
  const Claim* Of(Definition definition) const;
  bool empty() const { return claims_.empty(); }

 private:
  struct Learnt {
    Claim claim;
    bool cancelled = false;
  };

  TypeParts& parts_;
  std::unordered_map<Definition, Learnt> claims_;
};

}  // namespace linesmith
