// SPDX-License-Identifier: GPL-2.0-or-later
// Addresses of members that calls hand on: who gets which, and that they are no accesses.
#include <gtest/gtest.h>

#include "inferred.h"

namespace linesmith {
namespace {

// The rows as "struct whole+8 to other".
Accesses HandedOn(const Inferred& found) {
  Accesses handed;
  const AccessMap& map = *found.map.handed;
  for (std::size_t row = 0; row < map.columns.address.size(); ++row) {
    handed.push_back(map.types[map.columns.type[row]].name + "+" + std::to_string(map.columns.offset[row]) +
                     " to " + map.variables[map.columns.variable[row]]);
  }
  return handed;
}

TEST(HandedAddress, IsThatOfAMember) {
  const Inferred found("void f(struct whole *w) { other(&w->part); w->key = 1; }");
  if (!found.made) GTEST_SKIP();
  EXPECT_EQ(HandedOn(found), Accesses{"struct whole+8 to other"});
  EXPECT_EQ(found.accesses(), Accesses{"struct whole+0 variable"});
}

TEST(HandedAddress, OfARecordItselfSaysNothingOfItsFirstMember) {
  const Inferred found("void f(struct whole *w) { other(w); }");
  if (!found.made) GTEST_SKIP();
  EXPECT_EQ(HandedOn(found), Accesses{});
}

TEST(HandedAddress, GoesWithAJumpToAFunctionToo) {
  const Inferred found("void f(struct list *l) { other(&l->value); }");
  if (!found.made) GTEST_SKIP();
  EXPECT_EQ(HandedOn(found), Accesses{"struct list+8 to other"});
}

}  // namespace
}  // namespace linesmith
