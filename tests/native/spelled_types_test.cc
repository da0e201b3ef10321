// SPDX-License-Identifier: GPL-2.0-or-later
// Names of accessed types do not depend on the unit that happens to be read last.
#include "inferred.h"

namespace linesmith {
namespace {

// The unit with `f` comes first, the other one gives the name `box` to another type.
TEST(SpelledTypes, PointersToTypedefsKeepTheirName) {
  const std::string first =
      "typedef struct { long held; } box; long g(box *b) { return b->held; } void f(box **at) { *at = 0; }";
  const Inferred inferred("struct box { char other; }; char h(struct box *b) { return b->other; }",
                          "printf '%s' '" + first + "' >first.c && gcc -O2 -g -r -nostdlib first.c");
  EXPECT_EQ(inferred.accesses(), (Accesses{"box *+0 variable"}));
}

TEST(SpelledTypes, CodeWithoutDebugInformationHasNoTypes) {
  const Inferred inferred("long held; struct part *of;",
                          "printf '%s' '"
                          "extern struct { long low, high; } *of; long f(void) { return of->high; }' >bare.c"
                          " && gcc -O2 -c bare.c && gcc -O2 -g -r -nostdlib bare.o");
  const AccessColumns& columns = inferred.map.columns;
  for (std::size_t row = 0; row < columns.outcome.size(); ++row) {
    if (static_cast<Outcome>(columns.outcome[row]) == Outcome::kNoTypes) EXPECT_EQ(columns.type[row], 0u);
  }
  EXPECT_TRUE(inferred.Has("no types"));
}

}  // namespace
}  // namespace linesmith
