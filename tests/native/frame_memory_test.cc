// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of words in a function's frame after others could write to them, or the index of a store was
// not known.
#include "inferred.h"

namespace linesmith {
namespace {

TEST(FrameMemory, UnionThatACalleeWasGivenHoldsAnyOfItsArms) {
  EXPECT_EQ(Inferred("union u { struct part *p; struct whole *w; };"
                     "long f(struct whole *w) { union u u; u.w = w; other(&u); return u.p->high; }")
                .accesses(),
            (Accesses{"unknown"}));
}

TEST(FrameMemory, MembersOfAnObjectThatACalleeWasGivenAreForgotten) {
  EXPECT_EQ(Inferred("struct bag { void *what; int count; };"
                     "long f(struct whole *w) { struct bag b = { w, 1 }; other(&b);"
                     "  return ((struct part *)b.what)->high; }")
                .accesses(),
            (Accesses{"untyped"}));
}

TEST(FrameMemory, AddressThatWasStoredIsKnownToLaterCallees) {
  EXPECT_EQ(
      Inferred("void **leak; void run(void);"
               "long f(struct whole *w) { void *p = w; leak = &p; run(); return ((struct part *)p)->high; }")
          .accesses(),
      (Accesses{"untyped", "void **+0 global"}));
}

TEST(FrameMemory, WhatOnePathHasForgottenIsForgottenBehindIt) {
  EXPECT_EQ(Inferred("long f(struct whole *w, int k) { void *p = w; if (k) other(&p);"
                     "  __asm__ volatile(\"\" : \"+m\"(p)); return ((struct part *)p)->high; }",
                     "gcc -Os -g -fcf-protection=none -c")
                .accesses(),
            (Accesses{"untyped"}));
}

TEST(FrameMemory, StoreWithAnIndexMayBeToAnyElement) {
  EXPECT_EQ(Inferred("long f(struct whole *w, void *v, long n) { void *a[4]; a[0] = w; other(a); a[n] = v;"
                     "  return ((struct part *)a[0])->high; }")
                .accesses(),
            (Accesses{"untyped"}));
}

TEST(FrameMemory, SpilledPointerSurvivesCallsThatGetOtherVariables) {
  const Inferred inferred(
      "long f(struct whole *w, struct part *p) { long n[4]; other(n);"
      "  __asm__ volatile(\"\" : : : \"rbx\", \"rbp\", \"r12\", \"r13\", \"r14\", \"r15\"); other(n);"
      "  return w->last + p->high + n[0]; }",
      "gcc -O2 -g -fcf-protection=none -fno-stack-protector -c");
  EXPECT_EQ(inferred.accesses(), (Accesses{"struct part+8 propagation", "struct whole+24 propagation"}));
}

// The unwinder leads here, no edge does; the pointers lie in the frame. Arguments of the caller lie behind
// it.
TEST(FrameMemory, HandlerOfAnExceptionHasTheFrameOfTheCallsThatThrow) {
  const Inferred inferred(
      "struct other_part { int a, b; long c, d; }; part *make(int); void may(void *);"
      "long f(long, long, long, long, long, long, other_part *x, other_part *y) {"
      "  part *p = make(1), *q = make(2), *r = make(3), *s = make(4), *t = make(5), *u = make(6), *v = "
      "make(7);"
      "  try { may(x); may(y); } catch (...) {"
      "    return p->high + q->high + r->high + s->high + t->high + u->high + v->high; }"
      "  may(p); may(q); may(r); may(s); may(t); may(u); may(v); return 0; }",
      "g++ -O2 -g -fcf-protection=none -c");
  if (!inferred.made) GTEST_SKIP() << "cannot run g++";
  for (const std::string& access : inferred.accesses()) {
    EXPECT_TRUE(access.starts_with("struct part+8 ") || access == "unknown") << access;
  }
}

}  // namespace
}  // namespace linesmith
