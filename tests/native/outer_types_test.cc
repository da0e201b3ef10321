// SPDX-License-Identifier: GPL-2.0-or-later
// Accesses outside of the record that a pointer leads to: what is around it, what is behind it.
#include "inferred.h"

namespace linesmith {
namespace {

const std::string kRecords = R"(
struct common { long words[12]; };
struct first { struct common common; long own; struct part *of; };
struct second { long own; struct common common; };
struct wider { struct first first; long last; };
static inline struct first *first_of(struct common *c) { return (struct first *)c; }
static inline struct second *second_of(struct common *c) { return (struct second *)((char *)c - 8); }
)";

TEST(OuterTypes, InlinedFunctionTellsWhatIsAroundARecord) {
  EXPECT_EQ(Inferred(kRecords + "long f(struct common *c) { return first_of(c)->own; }").accesses(),
            (Accesses{"struct first+96 propagation"}));
  EXPECT_EQ(Inferred(kRecords + "long f(struct common *c) { return second_of(c)->own; }").accesses(),
            (Accesses{"struct second+0 propagation"}));
}

TEST(OuterTypes, WhatIsLoadedThereHasItsType) {
  EXPECT_EQ(Inferred(kRecords + "long f(struct common *c) { return first_of(c)->of->high; }").accesses(),
            (Accesses{"struct first+104 propagation", "struct part+8 propagation"}));
}

TEST(OuterTypes, OfRecordsThatHoldEachOtherTheSmallestIsTold) {
  EXPECT_EQ(Inferred(kRecords + "static inline struct wider *wider_of(struct common *c) { return (void *)c; }"
                                "long g(struct wider *);"
                                "long f(struct common *c) { return first_of(c)->own + g(wider_of(c)); }")
                .accesses(),
            (Accesses{"struct first+96 propagation"}));
}

TEST(OuterTypes, OnlyWhatReachesThePlaceIsTold) {
  EXPECT_EQ(Inferred(kRecords + "static inline struct wider *wider_of(struct common *c) { return (void *)c; }"
                                "long f(struct common *c) { return wider_of(c)->first.own; }")
                .accesses(),
            (Accesses{"struct first+96 propagation"}));
}

TEST(OuterTypes, TwoThatFitTellNothing) {
  const std::string third =
      "struct third { struct common common; int two[4]; };"
      "static inline struct third *third_of(struct common *c) { return (struct third *)c; }";
  const Inferred inferred(
      kRecords + third +
      "long g(struct third *t, struct first *x);"
      "long f(struct common *c) { return *((long *)c + 12) + g(third_of(c), first_of(c)); }");
  EXPECT_EQ(inferred.accesses(), (Accesses{"outside"}));
}

// As drivers of network devices keep their own state: behind the device, at its aligned size.
TEST(OuterTypes, VariablesOfTheUnitTellWhatIsBehindARecord) {
  const std::string state =
      "struct state { struct part *of; long counts[12]; };"
      "static inline void *behind(struct common *c) { return (char *)c + 128; }"
      "void g(struct common *c, long n) {"
      "  struct state *s = behind(c); other(c); s->counts[3] = n; other(c); s->counts[4] = n; }"
      "long f(struct common *c) { return ((struct state *)behind(c))->of->high; }";
  EXPECT_EQ(Inferred(kRecords + state).accesses(),
            (Accesses{"struct part+8 propagation", "struct state+0 propagation"}));
}

TEST(OuterTypes, SmallRecordsArePartsOfTooMany) {
  EXPECT_EQ(Inferred("struct big { struct part part; long own[20]; };"
                     "static inline struct big *big_of(struct part *p) { return (struct big *)p; }"
                     "long f(struct part *p) { return big_of(p)->own[2]; }")
                .accesses(),
            (Accesses{"outside"}));
}

TEST(OuterTypes, GuardOfTheStackBelongsToTheFrame) {
  const Inferred inferred(
      "void f(char *p) { char text[64]; __builtin_strncpy(text, p, 63); other(text); }",
      "gcc -O2 -g -fcf-protection=none -fstack-protector-all -mstack-protector-guard=tls -c");
  EXPECT_EQ(inferred.accesses(), Accesses{});
}

}  // namespace
}  // namespace linesmith
