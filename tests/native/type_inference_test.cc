// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of an address after a few instructions that gcc makes of C: one rule for each test.
#include "inferred.h"

namespace linesmith {
namespace {

TEST(TypeInference, ParameterLeadsToItsType) {
  EXPECT_EQ(Inferred("long f(struct part *p) { return p->high; }").accesses(),
            (Accesses{"struct part+8 variable"}));
}

TEST(TypeInference, LoadedPointerLeadsToItsTarget) {
  EXPECT_EQ(Inferred("long f(struct whole *w) { return w->link->high; }").accesses(),
            (Accesses{"struct part+8 propagation", "struct whole+32 variable"}));
}

TEST(TypeInference, MemberOfAMemberKeepsTheOutermostType) {
  EXPECT_EQ(Inferred("static inline long g(struct part *p) { return p->high; }"
                     "long f(struct whole *w) { return g(&w->part); }")
                .accesses(),
            (Accesses{"struct whole+16 variable"}));
}

TEST(TypeInference, VariableNamesWhatHoldsAMember) {
  EXPECT_EQ(Inferred("long f(struct part *p) {"
                     "  struct whole *w = (struct whole *)((char *)p - 8); return w->last; }")
                .accesses(),
            (Accesses{"struct whole+24 variable"}));
}

TEST(TypeInference, IndexStaysInItsArray) {
  EXPECT_EQ(Inferred("long f(struct table *t, long i) { return t->entries[i].high; }").accesses(),
            (Accesses{"struct table+24 variable"}));
}

TEST(TypeInference, IndexThatStartsBeforeItsArrayIsInIt) {
  EXPECT_EQ(Inferred("long f(struct table *t, long i) { return t->entries[i - 1].high; }").accesses(),
            (Accesses{"struct table+24 variable"}));
}

TEST(TypeInference, NumberOfBytesLeavesNoMember) {
  EXPECT_EQ(Inferred("long f(struct table *t, long n) { return *(long *)((char *)t + n); }").accesses(),
            (Accesses{"indexed"}));
}

TEST(TypeInference, GlobalArrayIsAccessedByItsElement) {
  EXPECT_EQ(Inferred("struct part parts[8]; long f(long i) { return parts[i].high; }").accesses(),
            (Accesses{"struct part+8 global"}));
}

TEST(TypeInference, CallKeepsCalleeSavedRegisters) {
  EXPECT_EQ(Inferred("long f(struct part *p) { other(0); return p->high; }").accesses(),
            (Accesses{"struct part+8 variable"}));
}

TEST(TypeInference, ResultOfACallHasTheTypeOfTheFunction) {
  EXPECT_EQ(Inferred("__attribute__((noipa)) struct part *g(void) { return 0; }"
                     "long f(void) { return g()->high; }")
                .accesses(),
            (Accesses{"struct part+8 propagation"}));
}

TEST(TypeInference, LoopOverAListMeetsItself) {
  const Accesses found =
      Inferred("long f(struct list *l) { long s = 0; for (; l; l = l->next) s += l->value; return s; }")
          .accesses();
  EXPECT_TRUE(std::ranges::all_of(
      found, [](const std::string& access) { return access.starts_with("struct list+"); }));
  EXPECT_GE(found.size(), 2u);
}

TEST(TypeInference, WhatACalleeMayHaveWrittenIsForgotten) {
  EXPECT_EQ(Inferred("long f(struct whole *w) { void *p = w; other(&p); return ((struct part *)p)->high; }")
                .accesses(),
            (Accesses{"untyped"}));
}

TEST(TypeInference, SeveralCharactersAtOnceAreNoCharacter) {
  EXPECT_EQ(Inferred("long f(char *p) { long v; __builtin_memcpy(&v, p, 8); return v; }").accesses(),
            (Accesses{"outside"}));
}

TEST(TypeInference, PointerToNothingKnownIsUntyped) {
  EXPECT_EQ(Inferred("long f(void *p) { return *(long *)p; }").accesses(), (Accesses{"untyped"}));
}

TEST(TypeInference, ArmsOfAUnionThatDisagreeGiveNoPointer) {
  const Accesses found = Inferred(
                             "union u { struct part *p; struct whole *w; }; struct s { union u u; };"
                             "long f(struct s *s) { return *((long *)s->u.p + 1); }")
                             .accesses();
  EXPECT_TRUE(std::ranges::find(found, "struct whole+8 propagation") == found.end());
}

TEST(AccessMap, RowsAscendAndEveryFunctionCountsItsOwn) {
  const AccessMap map =
      Inferred(
          "long g(struct part *p) { return p->low; } long f(struct part *p) { other(p); return p->high; }")
          .map;
  EXPECT_TRUE(std::ranges::is_sorted(map.columns.address));
  std::uint64_t accesses = 0;
  for (const AccessedFunction& function : map.functions) accesses += function.accesses;
  EXPECT_EQ(accesses, map.columns.address.size());
  EXPECT_EQ(map.columns.outcome.size(), map.columns.address.size());
}

}  // namespace
}  // namespace linesmith
