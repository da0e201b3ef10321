// SPDX-License-Identifier: GPL-2.0-or-later
// Variables and functions that code reaches by way of the linker: global offset tables, threads' blocks,
// stubs.
#include "inferred.h"

namespace linesmith {
namespace {

class LinkedNames : public testing::TestWithParam<const char*> {
 protected:
  // What `f` does; skips the test where the compiler is not installed.
  static void ExpectAll(const std::string& source, const Accesses& expected) {
    const Inferred inferred(source, GetParam());
    if (!inferred.made) GTEST_SKIP() << "cannot run " << GetParam();
    for (const std::string& access : expected) {
      EXPECT_TRUE(inferred.Has(access)) << access << " in " << testing::PrintToString(inferred.accesses());
    }
    EXPECT_FALSE(inferred.Has("unknown")) << testing::PrintToString(inferred.accesses());
  }
};

using ThreadVariables = LinkedNames;

// Each has a size and alignment of its own, so that no other order of the block fits.
TEST_P(ThreadVariables, AreTold) {
  ExpectAll(
      "struct first { long a, b, c; }; struct second { int x, y; long z; }; struct third { char *p; };"
      "__thread struct first one = {1, 2, 3}; __thread struct second two; __thread char three[3];"
      "_Alignas(64) __thread struct second four; static __thread struct third five;"
      "void f(long i) { one.b = i; two.y = i; three[i] = 1; four.z = i; five.p = 0; other(&five); }",
      {"struct first+8 percpu", "struct second+4 percpu", "struct second+8 percpu", "char+0 percpu",
       "struct third+0 percpu"});
}

INSTANTIATE_TEST_SUITE_P(
    Compilers, ThreadVariables,
    testing::Values("gcc -O2 -g -c", "gcc -O0 -g -c",
                    "gcc -O2 -g -Wl,--unresolved-symbols=ignore-all,-e,f -nostdlib",
                    "clang-19 -O2 -g -Wl,--unresolved-symbols=ignore-all,-e,f -nostdlib",
                    "gcc -O2 -g -fPIC -shared -nostdlib", "gcc -O0 -g -fPIC -shared -nostdlib",
                    "gcc -O2 -g -fPIC -ftls-model=initial-exec -shared -nostdlib",
                    "gcc -O2 -g -fPIC -ftls-model=local-dynamic -shared -nostdlib",
                    "gcc -O2 -g -fPIC -fno-plt -shared -nostdlib", "clang-19 -O2 -g -fPIC -shared -nostdlib",
                    "aarch64-linux-gnu-gcc -O2 -g -c",
                    "aarch64-linux-gnu-gcc -O2 -g -Wl,--unresolved-symbols=ignore-all,-e,f -nostdlib -static",
                    "aarch64-linux-gnu-gcc -O2 -g -fPIC -shared -nostdlib",
                    "aarch64-linux-gnu-gcc -O2 -g -fPIC -ftls-model=initial-exec -shared -nostdlib",
                    "aarch64-linux-gnu-gcc -O2 -g -fPIC -mtls-dialect=trad -shared -nostdlib"));

using ThreadVariablesOfOtherFiles = LinkedNames;

TEST_P(ThreadVariablesOfOtherFiles, AreToldByTheirDeclaration) {
  ExpectAll("extern __thread struct part *mine; long f(void) { return mine->high; }",
            {"struct part+8 propagation"});
}

INSTANTIATE_TEST_SUITE_P(Compilers, ThreadVariablesOfOtherFiles, testing::Values("gcc -O2 -g -c"));

// clang does not describe what it only sees declared.
using GlobalVariables = LinkedNames;

TEST_P(GlobalVariables, AreToldThroughTheOffsetTable) {
  ExpectAll(
      "struct whole shared; extern struct part *foreign; extern struct part *make(void); struct part *own;"
      "long f(long i) { shared.last = i; own->high = i; make()->high = i; return foreign->low; }",
      {"struct whole+24 global", "struct part *+0 global", "struct part+0 propagation",
       "struct part+8 propagation"});
}

INSTANTIATE_TEST_SUITE_P(Compilers, GlobalVariables,
                         testing::Values("gcc -O2 -g -c", "gcc -O2 -g -fPIC -c",
                                         "gcc -O2 -g -fPIC -shared -nostdlib",
                                         "gcc -O0 -g -fPIC -shared -nostdlib",
                                         "gcc -O2 -g -fPIC -fno-plt -shared -nostdlib",

                                         "aarch64-linux-gnu-gcc -O2 -g -fPIC -shared -nostdlib",
                                         "aarch64-linux-gnu-gcc -O2 -g -fPIC -c"));

// The kernel's offset to this CPU's variables is in a system register.
TEST(LinkedNames, PerCpuVariablesOfArm64) {
  const Inferred inferred(
      "__attribute__((section(\".data..percpu\"))) struct part counters;"
      "__attribute__((section(\".modinfo\"))) const char info[] = \"kernel\";"
      "long f(void) { unsigned long base; __asm__(\"mrs %0, tpidr_el1\" : \"=r\"(base));"
      "  return ((struct part *)((char *)&counters + base))->high; }",
      "aarch64-linux-gnu-gcc -O2 -g -c");
  if (!inferred.made) GTEST_SKIP() << "cannot run aarch64-linux-gnu-gcc";
  EXPECT_EQ(inferred.accesses(), (Accesses{"struct part+8 percpu"}));
}

}  // namespace
}  // namespace linesmith
