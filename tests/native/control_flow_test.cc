// SPDX-License-Identifier: GPL-2.0-or-later
// Where control goes in code that real compilers make: what it does not reach must not tell what holds there.
#include <set>

#include "inferred.h"

namespace linesmith {
namespace {

constexpr const char* kUnoptimised = "gcc -O0 -g -c";

// Behind the call another path goes on, on which the register holds something else.
const char kNeverReturns[] = R"(
struct other { int one, two; long three; };
void *lookup(int);
__attribute__((noreturn)) void give_up(void *, long);
long f(struct part *p, int k) {
  void *x;
  if (__builtin_expect(k == 1, 0)) { other(p); other(p); give_up(p, p->high); }
  x = lookup(k);
  other(x);
  if (k == 7) return ((struct other *)x)->three;
  other(x);
  return 1;
}
)";

TEST(ControlFlow, NothingRunsBehindACallThatDwarfSaysNeverReturns) {
  EXPECT_EQ(Inferred(kNeverReturns, "gcc -O1 -g -fcf-protection=none -c").accesses(),
            (Accesses{"struct part+8 variable", "untyped"}));
}

TEST(ControlFlow, DefinedFunctionsThatNeverReturnAreKnownToo) {
  const std::string defined = "__attribute__((noipa)) void give_up(void *p, long n) { for (;;) other(p); }";
  EXPECT_EQ(Inferred(kNeverReturns + defined, "gcc -O1 -g -fcf-protection=none -c").accesses(),
            (Accesses{"struct part+8 variable", "untyped"}));
}

const char kSwitch[] = R"(
void f(struct whole *w, struct part *p, int k) {
  switch (k) {
    case 0: w->key++; break;
    case 1: other(w->link); break;
    case 2: p->low = 7; other(0); break;
    case 3: w->last ^= k; other(w); break;
    case 4: p->high <<= 1; break;
    case 5: other(p); w->part.high -= 9; break;
    case 6: other(&w->part); break;
  }
}
)";

// The places of resolved accesses, without what told them and each once.
std::set<std::string> Places(const Accesses& accesses) {
  std::set<std::string> places;
  for (const std::string& access : accesses) {
    if (access.find('+') != std::string::npos) places.insert(access.substr(0, access.rfind(' ') + 1));
  }
  return places;
}

class ControlFlowOfSwitch : public testing::TestWithParam<const char*> {};

TEST_P(ControlFlowOfSwitch, EveryCaseIsReachedWithItsFrame) {
  const Inferred inferred(kSwitch, GetParam());
  if (!inferred.made) GTEST_SKIP() << "cannot run " << GetParam();
  EXPECT_FALSE(inferred.Has("unknown"));
  EXPECT_EQ(Places(inferred.accesses()),
            (std::set<std::string>{"struct part+0 ", "struct part+8 ", "struct whole+0 ", "struct whole+16 ",
                                   "struct whole+24 ", "struct whole+32 "}));
}

INSTANTIATE_TEST_SUITE_P(Compilers, ControlFlowOfSwitch,
                         testing::Values("gcc -O0 -g -c", "gcc -O0 -g -fno-pic -c",
                                         "gcc -O0 -g -fcf-protection=full -c", "gcc -O2 -g -fPIC -c",
                                         "gcc -O2 -g -fno-pic -mcmodel=kernel -c",
                                         "gcc -O1 -g -fPIC -shared -nostdlib", "clang-19 -O0 -g -c",
                                         "clang-19 -O2 -g -c", "clang-19 -O0 -g -fPIC -c",
                                         "aarch64-linux-gnu-gcc -O0 -g -c", "aarch64-linux-gnu-gcc -O2 -g -c",
                                         "aarch64-linux-gnu-gcc -Os -g -c",
                                         "clang-19 --target=aarch64-linux-gnu -O0 -g -c",
                                         "clang-19 --target=aarch64-linux-gnu -O2 -g -c"));

// Labels as values: the table lies in memory that the dynamic linker fills in.
const char kComputedGoto[] = R"(
long f(struct whole *w, struct part *p, const unsigned char *code) {
  static const void *const labels[] = {&&a, &&b, &&c};
  goto *labels[*code++];
a: w->key++; goto *labels[*code++];
b: p->high++; goto *labels[*code++];
c: return w->last;
}
)";

class ControlFlowOfLabels : public testing::TestWithParam<const char*> {};

TEST_P(ControlFlowOfLabels, LeadsToEveryLabel) {
  const Inferred inferred(kComputedGoto, GetParam());
  const std::set<std::string> places = Places(inferred.accesses());
  EXPECT_TRUE(places.contains("struct whole+24 ")) << testing::PrintToString(inferred.accesses());
  EXPECT_TRUE(places.contains("struct whole+0 "));
  EXPECT_TRUE(places.contains("struct part+8 "));
  EXPECT_FALSE(inferred.Has("unknown"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, ControlFlowOfLabels,
                         testing::Values("gcc -O0 -g -c", "gcc -O2 -g -c",
                                         "gcc -O0 -g -fPIC -shared -nostdlib",
                                         "gcc -O2 -g -fPIC -shared -nostdlib"));

// No variable says what the register holds that `*at` was loaded into.
TEST(ControlFlow, TableMayBeIndexedByAnotherOne) {
  const Inferred inferred(
      "extern const unsigned char classes[256];"
      "long f(const unsigned char *text, struct whole **at, long k) {"
      "  long sum = (*at)->key + k;"
      "  switch (classes[*text]) {"
      "    case 0: return (*at)->last + sum;"
      "    case 1: return (*at)->part.low * sum;"
      "    case 2: return sum - (*at)->part.high;"
      "    case 3: return (long)(*at)->link ^ sum;"
      "    case 4: return sum << 3;"
      "    case 5: return sum / 3;"
      "  }"
      "  return sum; }",
      "gcc -O2 -g -fPIE -c");
  EXPECT_TRUE(inferred.Has("struct whole+24 propagation")) << testing::PrintToString(inferred.accesses());
  EXPECT_TRUE(inferred.Has("struct whole+16 propagation"));
  EXPECT_FALSE(inferred.Has("unknown"));
}

// The labels are picked from a table that is made at run time: nobody knows where the jump leads.
TEST(ControlFlow, JumpToAnyPlaceKeepsTheFrame) {
  const Inferred inferred(
      "long f(struct whole *w, struct part *p, long k) {"
      "  void *labels[] = {&&a, &&b}; goto *labels[k];"
      "a: return w->key;"
      "b: return p->high; }",
      kUnoptimised);
  EXPECT_TRUE(inferred.Has("struct whole+0 propagation")) << testing::PrintToString(inferred.accesses());
  EXPECT_TRUE(inferred.Has("struct part+8 propagation"));
}

// The compiler aligns the loop with no-ops behind a jump; values are kept in the frame around it.
TEST(ControlFlow, PaddingLeadsNowhere) {
  const std::string text =
      "long f(struct whole *w, long *v, long n) {"
      "  struct part *kept = w->link; long sum = 0;"
      "  for (long i = 0; i < n; i++) {"
      "    __asm__ volatile(\"jmp 1f\\n .p2align 6\\n 1:\");"
      "    __asm__ volatile(\"\" : : : \"rbx\", \"rbp\", \"r12\", \"r13\", \"r14\", \"r15\", \"rsi\", "
      "\"rdi\","
      "                     \"r8\", \"r9\", \"r10\", \"r11\");"
      "    sum += kept->high + v[i];"
      "  }"
      "  return sum; }";
  EXPECT_TRUE(Inferred(text).Has("struct part+8 propagation") || Inferred(text).Has("struct part+8 variable"))
      << testing::PrintToString(Inferred(text).accesses());
}

}  // namespace
}  // namespace linesmith
