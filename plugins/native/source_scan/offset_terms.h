// SPDX-License-Identifier: GPL-2.0-or-later
// Offsets and sizes that an expression is made of.
#pragma once

#include <optional>
#include <vector>

#include "collector.h"

namespace linesmith {

// A member's offset in one of the records asked for. `total` is the offset of all of the expression, in bits;
// none where it depends on an index.
struct OffsetTerm {
  const clang::Expr* expression = nullptr;
  int declaration = -1;
  std::string member;
  std::optional<std::uint64_t> total;
};

struct Terms {
  std::vector<OffsetTerm> offsets;
  std::vector<int> whole_sizes;                           // records whose sizeof is taken
  std::vector<std::pair<int, std::string>> member_sizes;  // members whose sizeof is taken
};

// One term for each of the records asked for that `offset` leads through, the outermost first.
std::vector<OffsetTerm> TermsOf(const clang::OffsetOfExpr& offset, const Collector& collector);

// All terms below `statement`; the labels of a case only, not what is done in it.
Terms TermsBelow(const clang::Stmt& statement, const Collector& collector);

}  // namespace linesmith
