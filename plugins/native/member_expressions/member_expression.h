// SPDX-License-Identifier: GPL-2.0-or-later
// One place in a source where memory is reached through a type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace linesmith {

// What the source does with the place. An address that is taken may be read or written elsewhere; an offset
// is only computed.
enum class Use : std::uint8_t { kRead, kWrite, kUpdate, kAddress, kOffset };

// A member on the way from the object to the place. Anonymous records leave no step: their members count as
// those of the record around them. A record without a name of its own, held by a named member, is "".
struct Step {
  std::string record;
  std::string member;
};

struct MemberExpression {
  std::vector<Step> steps;  // outermost first; empty for *p, p[i] and plain variables
  std::string variable;     // the variable with static storage that the object is; "" for others
  std::string type;         // of the place, as C names it, without qualifiers and typedefs
  std::uint64_t bytes = 0;  // of the place; 0 where the type is incomplete
  Use use = Use::kRead;
  bool whole = false;  // all of a record or array: any member of it may be what is touched
};

// As what an expression is on a line: written there, or given by a macro that is used or defined there.
enum class Place : std::uint8_t { kSource, kExpansion, kSpelling };

struct SourceLine {
  std::string file;  // absolute
  unsigned line = 0;
  unsigned first = 0;  // lines of the statement around it where it lies in the same file, else `line`
  unsigned last = 0;
  Place place = Place::kSource;
};

}  // namespace linesmith
