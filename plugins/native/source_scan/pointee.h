// SPDX-License-Identifier: GPL-2.0-or-later
// What a pointer leads to, as far as the expression itself shows it.
#pragma once

#include <optional>
#include <vector>

#include "collector.h"

namespace linesmith {

// The beginning of what is pointed to, as seen from one of the records asked for. Bits.
struct Level {
  int declaration = -1;
  std::uint64_t offset = 0;  // from the record's first bit
  bool whole = false;        // what is pointed to is the record itself
  std::string member;  // the one that is named; "" for the record itself and for arithmetic on its address
};

struct Pointee {
  std::vector<Level> levels;            // innermost first
  std::optional<std::uint64_t> extent;  // bits up to the end of the object that is named; none beyond it
  const clang::Expr* base = nullptr;    // the pointer or variable that all begins with
};

// What `pointer`, an expression of pointer type, leads to.
Pointee PointeeOf(const clang::Expr& pointer, const Collector& collector);

// The bits of `level`'s record that `bits` from its beginning on cover, if that is neither all of the record
// nor only what is named.
std::optional<std::pair<std::uint64_t, std::uint64_t>> PartOf(const Level& level, const Pointee& pointee,
                                                              std::uint64_t bits, const Collector& collector);

}  // namespace linesmith
