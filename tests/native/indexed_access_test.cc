// SPDX-License-Identifier: GPL-2.0-or-later
// Which member an index moves over when compilers have put a constant into the index itself, and what masks
// leave of a pointer.
#include "inferred.h"

namespace linesmith {
namespace {

const char kCounters[] =
    "struct counters { long marks[4]; struct part *owner; long lock; long seen[8]; long lost[8]; };";

// lea 0x30(,%index,8) serves both; the second one takes the constant off again.
TEST(IndexedAccess, ConstantInTheIndexTellsTheArray) {
  EXPECT_EQ(Inferred(std::string(kCounters) +
                     "long all[8]; void f(struct counters *c, unsigned item, long n) {"
                     "  __atomic_fetch_add(&c->seen[item], n, 5); __atomic_fetch_add(&all[item], n, 5); }")
                .accesses(),
            (Accesses{"long int+0 global", "struct counters+48 variable"}));
}

TEST(IndexedAccess, ConstantAddedToTheIndexTellsTheArray) {
  EXPECT_EQ(Inferred(std::string(kCounters) +
                     "long f(struct counters *c, long i) { long k = i + 14; __asm__(\"\" : \"+r\"(k));"
                     "  return ((long *)c)[k]; }")
                .accesses()
                .size(),
            1u);
  EXPECT_TRUE(
      Inferred(std::string(kCounters) + "long f(struct counters *c, int item) { return c->lost[item]; }")
          .Has("struct counters+112 variable"));
}

// A loop counts bytes: it starts at the member of the first element.
TEST(IndexedAccess, CounterThatStartsInsideAnElementNamesItsMember) {
  const Inferred inferred(
      "struct db { char *name; struct part *tree; char level; long schema; };"
      "long f(struct db *dbs, int n) { long s = 0;"
      "  for (int i = 0; i < n; i++) if (dbs[i].tree) { s += dbs[i].tree->high; other(dbs); } return s; }",
      "clang-19 -O2 -g -c");
  if (!inferred.made) GTEST_SKIP() << "cannot run clang-19";
  for (const std::string& access : inferred.accesses()) {
    EXPECT_TRUE(access.starts_with("struct db+8 ") || access.starts_with("struct part+8 ")) << access;
  }
}

TEST(IndexedAccess, IndexThatStartsAtOneIsInTheArrayBehind) {
  EXPECT_TRUE(Inferred("struct map { long bins[4]; unsigned bits[4]; };"
                       "unsigned f(struct map *m, unsigned i) { return m->bits[i]; }")
                  .Has("struct map+32 variable"));
}

// The index is 3 * i, which no step tells: the array around the place does.
TEST(IndexedAccess, ArrayWithoutElementsInTheMiddleIsNone) {
  EXPECT_EQ(
      Inferred("struct area { long list[2]; long count; };"
               "struct zone { long lock; long marks[2]; struct { char mark[0]; } pad; struct area areas[8];"
               "  long seen[4]; };"
               "void f(struct zone *z, unsigned long i) {"
               "  unsigned long k = i * 2; __asm__(\"\" : \"+r\"(k)); k += i; ((long *)z)[k + 5]++; }")
          .accesses(),
      (Accesses{"struct zone+40 variable"}));
}

TEST(IndexedAccess, OneStepInFrontOfAnArrayBehindALikeOneIsNeither) {
  EXPECT_EQ(Inferred("struct two { struct part *a[4]; struct list *b[4]; };"
                     "long f(struct two *t, long i) { return t->b[i - 1]->value; }")
                .accesses(),
            (Accesses{"indexed", "unknown"}));
}

// Nothing tells an element of which size the place before the pointer is.
TEST(IndexedAccess, PlaceOutsideOfTheRecordIsNoElementOfUnknownSteps) {
  EXPECT_EQ(
      Inferred("long f(struct part *p, unsigned n) { return *(long *)((char *)p - 4056 + 8 * (long)n); }")
          .accesses(),
      (Accesses{"indexed"}));
}

TEST(IndexedAccess, BytesOfARecordThatIsCastFromABufferAreNoCharacters) {
  EXPECT_EQ(Inferred("struct buffer { unsigned char *head; unsigned short start; };"
                     "struct header { char kind, flags; short length; long number; };"
                     "long f(struct buffer *b) {"
                     "  return ((struct header *)(b->head + b->start))->number +"
                     "    ((struct header *)(b->head + b->start))->flags; }")
                .accesses(),
            (Accesses{"outside", "outside", "struct buffer+0 variable", "struct buffer+8 variable"}));
}

TEST(IndexedAccess, MaskTakesAwayTheTagOfAPointer) {
  EXPECT_EQ(Inferred("long f(struct part *p) { unsigned long t = (unsigned long)p | 1; other((void *)t);"
                     "  __asm__ volatile(\"\" : \"+r\"(t)); t &= ~3ul; return ((struct part *)t)->high; }")
                .accesses(),
            (Accesses{"struct part+8 propagation"}));
}

}  // namespace
}  // namespace linesmith
