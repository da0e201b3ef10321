// SPDX-License-Identifier: GPL-2.0-or-later
// What a variable says of a `void *` holds on its own path only.
#include "inferred.h"

namespace linesmith {
namespace {

TEST(LearntClaims, VoidPointerOfOnePathIsNoneOfTheOtherPathsType) {
  EXPECT_EQ(Inferred("void run(void);"
                     "long f(int k, struct whole *w, void *v) { void *p = k ? (void *)w : v; other(p); run();"
                     "  return ((struct part *)p)->high; }")
                .accesses(),
            (Accesses{"untyped"}));
}

TEST(LearntClaims, CastInOneArmSaysNothingOfWhatComesBehindIt) {
  EXPECT_EQ(Inferred("long f(void *v, int k) {"
                     "  if (k) { struct whole *w = v; if (w->key == 5) return w->last; }"
                     "  other(v); return ((struct part *)v)->high; }")
                .accesses(),
            (Accesses{"struct whole+0 variable", "struct whole+24 variable", "untyped"}));
}

TEST(LearntClaims, CastInOneArmSaysNothingOfTheOtherOne) {
  EXPECT_EQ(Inferred("long f(void *v, int tag) { other(v);"
                     "  switch (tag) { case 1: { struct whole *w = v; other(w); return w->last; }"
                     "  case 2: other(0); return ((struct part *)v)->high; } return 0; }",
                     "gcc -O1 -g -fcf-protection=none -c")
                .accesses(),
            (Accesses{"struct whole+24 variable", "untyped"}));
}

TEST(LearntClaims, CastHoldsInFrontOfItsVariableOnTheSamePath) {
  const Inferred inferred(
      "void *make(void);"
      "long f(void) { struct whole *w = make(); w->key = 1; if (w->last) other(w); return w->part.low; }");
  for (const std::string& access : inferred.accesses())
    EXPECT_TRUE(access.starts_with("struct whole+")) << access;
  EXPECT_TRUE(inferred.Has("struct whole+24 propagation"));
}

// Two variables share a register; the smaller type is that of the base.
TEST(LearntClaims, VariableThatReachesAsFarAsTheAccessIsMeant) {
  const Inferred inferred(
      "struct base { long methods; }; struct derived { long methods; long inode; short flags; };"
      "int f(struct base *b, int k) { struct derived *d = (struct derived *)b; int r = 0;"
      "  if (d->flags) r = k; other(b); if (b->methods) r += d->inode; return r; }");
  for (const std::string& access : inferred.accesses()) {
    EXPECT_TRUE(access.starts_with("struct derived+") || access.starts_with("struct base+0 ")) << access;
  }
}

}  // namespace
}  // namespace linesmith
