// SPDX-License-Identifier: GPL-2.0-or-later
// What the operand decoders do with bytes that no compiler writes; real code is tested from Python.
#include <elf.h>
#include <gtest/gtest.h>

#include "code/function_filter.h"
#include "code/operand_decoder.h"

namespace linesmith {
namespace {

std::set<MemoryAccess> Decoded(std::uint16_t machine, const std::vector<std::uint8_t>& bytes,
                               std::vector<std::uint64_t> relocations = {}) {
  std::set<MemoryAccess> accesses;
  MakeOperandDecoder(machine)->Decode({.bytes = bytes, .relocations = std::move(relocations)}, false,
                                      accesses);
  return accesses;
}

TEST(OperandDecoder, KnowsTwoMachines) {
  EXPECT_NE(MakeOperandDecoder(EM_X86_64), nullptr);
  EXPECT_NE(MakeOperandDecoder(EM_AARCH64), nullptr);
  EXPECT_EQ(MakeOperandDecoder(EM_RISCV), nullptr);
}

TEST(OperandDecoder, EndsOnEveryRunOfOneByte) {
  for (const std::uint16_t machine : {EM_X86_64, EM_AARCH64}) {
    for (unsigned first = 0; first < 256; ++first) {
      Decoded(machine, std::vector<std::uint8_t>(64, static_cast<std::uint8_t>(first)));
    }
  }
}

TEST(OperandDecoder, CutInstructionIsNone) {
  EXPECT_TRUE(Decoded(EM_X86_64, {0x48, 0x8b}).empty());         // mov 8(%rdi),%rax without its end
  EXPECT_TRUE(Decoded(EM_AARCH64, {0x20, 0x04, 0x40}).empty());  // ldr x0,[x1,#8] without its end
}

TEST(OperandDecoder, NoBytesNoAccesses) { EXPECT_TRUE(Decoded(EM_X86_64, {}).empty()); }

TEST(OperandDecoder, RelocatedImmediateIsNoDisplacement) {
  const std::vector<std::uint8_t> store = {0x48, 0xc7, 0x47, 0x08, 0, 0, 0, 0};  // movq $0,8(%rdi)
  EXPECT_EQ(Decoded(EM_X86_64, store, {4}).size(), 1u);
  EXPECT_TRUE(Decoded(EM_X86_64, store, {3}).empty());
}

TEST(OperandDecoder, PairsAreTwoNeighbours) {
  const std::set<MemoryAccess> pair = Decoded(EM_AARCH64, {0x20, 0x08, 0x41, 0xa9});  // ldp x0,x2,[x1,#16]
  const MemoryAccess first{.displacement = 16, .width = 8, .reads = true};
  const MemoryAccess second{.displacement = 24, .width = 8, .reads = true};
  EXPECT_EQ(pair, (std::set<MemoryAccess>{first, second}));
}

TEST(FunctionFilter, SuffixesOfClones) {
  EXPECT_EQ(WithoutCloneSuffix("f.constprop.0.cold"), "f");
  EXPECT_EQ(WithoutCloneSuffix("f.llvm.123"), "f");
  EXPECT_EQ(WithoutCloneSuffix(".f"), ".f");
}

TEST(NameMatcher, ReportsAsAskedOrByOwnName) {
  const FunctionFilter filter{.names = {"f.isra.0"}, .prefixes = {"map_"}};
  std::set<std::string> matches;
  const NameMatcher matcher(filter);
  matcher.Match("f", matches);
  matcher.Match("map_one", matches);
  matcher.Match("other", matches);
  EXPECT_EQ(matches, (std::set<std::string>{"f.isra.0", "map_one"}));
}

}  // namespace
}  // namespace linesmith
