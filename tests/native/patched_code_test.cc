// SPDX-License-Identifier: GPL-2.0-or-later
// What the image knows of code that Linux replaces, of faults that it expects and of traps that return.
#include "assembled.h"

namespace linesmith {
namespace {

// Entries of .altinstructions have grown: 12 bytes until 6.2, 14 since; feature words differ.
class Alternatives : public testing::TestWithParam<const char*> {};

TEST_P(Alternatives, ReplacedCodeIsPatched) {
  const Program program = Load(kX86, std::string(R"(
    nop
old: mov (%rdi), %rax
    ret
    .section .altinstr_replacement, "ax"
new: mov (%rsi), %rax
    .section .altinstructions, "a"
    .macro entry
    .long old - ., new - .
)") + GetParam() + R"(
    .byte 3, 3
    .endm
    entry
    entry
    entry
)");
  const std::uint64_t code = program.Place(".text");
  EXPECT_TRUE(program.image->is_kernel());
  EXPECT_FALSE(program.image->IsPatched(code));
  EXPECT_TRUE(program.image->IsPatched(code + 1));
  EXPECT_TRUE(program.image->IsPatched(code + 3));
  EXPECT_FALSE(program.image->IsPatched(code + 4));
}

INSTANTIATE_TEST_SUITE_P(Sizes, Alternatives, testing::Values(".word 0x85", ".long 0x10085"));

TEST(PatchedCode, JumpsThatAreReplacedMayGoOnOrElsewhere) {
  const Program program = Load(kX86, R"(
first: .byte 0xe9, 0, 0, 0, 0
second: .byte 0xe9, 0, 0, 0, 0
    ret
third: ret
    .section .altinstr_replacement, "ax"
new: jmp third
    .section .altinstructions, "a"
    .long first - ., 0
    .word 1
    .byte 5, 0
    .long second - ., new - .
    .word 1
    .byte 5, 5
)");
  const std::uint64_t code = program.Place(".text");
  EXPECT_EQ(program.image->SideExit(code), code + 5);
  EXPECT_EQ(program.image->SideExit(code + 5), code + 11);
}

TEST(PatchedCode, ParavirtualCallsArePatched) {
  const Program program = Load(kX86, R"(
    nop
site: call *pv_ops+8(%rip)
    .section .parainstructions, "a"
    .quad site
    .byte 3, 6
    .balign 8
)");
  const std::uint64_t code = program.Place(".text");
  EXPECT_FALSE(program.image->IsPatched(code));
  EXPECT_TRUE(program.image->IsPatched(code + 1));
}

TEST(PatchedCode, StaticBranchesAndFaultsLeadAside) {
  const Program program = Load(kX86, R"(
branch: .byte 0x0f, 0x1f, 0x44, 0x00, 0x00
access: mov (%rdi), %rax
    ret
other: ret
fixup: ret
    .section __jump_table, "aw"
    .long branch - ., other - .
    .quad key - .
    .section __ex_table, "a"
    .long access - ., fixup - ., 0
)");
  const std::uint64_t code = program.Place(".text");
  EXPECT_EQ(program.image->SideExit(code), code + 9);
  EXPECT_EQ(program.image->SideExit(code + 5), code + 10);
  EXPECT_EQ(program.image->SideExit(code + 8), 0u);
}

TEST(PatchedCode, WarningsComeBackAndBugsDoNot) {
  const Program program = Load(kX86, R"(
bug: ud2
warning: ud2
    .section __bug_table, "aw"
    .long bug - ., 0
    .word 10, 0
    .long warning - ., 0
    .word 20, 1
)");
  const std::uint64_t code = program.Place(".text");
  EXPECT_FALSE(program.image->ComesBack(code));
  EXPECT_TRUE(program.image->ComesBack(code + 2));
}

TEST(PatchedCode, WarningsWithoutLineNumbers) {
  const Program program = Load(kX86, R"(
bug: ud2
warning: ud2
    .section __bug_table, "aw"
    .long bug - .
    .word 0, 0
    .long warning - .
    .word 1, 0
)");
  EXPECT_FALSE(program.image->ComesBack(program.Place(".text")));
  EXPECT_TRUE(program.image->ComesBack(program.Place(".text") + 2));
}

TEST(PatchedCode, Arm64Warnings) {
  const Program program = Load(kArm64, R"(
bug: brk #0x800
warning: brk #0x800
    .section __bug_table, "aw"
    .long bug - ., 0
    .hword 10, 0
    .long warning - ., 0
    .hword 20, 1
)");
  if (program.image == nullptr) GTEST_SKIP() << "aarch64-linux-gnu-as is not installed";
  EXPECT_FALSE(program.image->ComesBack(program.Place(".text")));
  EXPECT_TRUE(program.image->ComesBack(program.Place(".text") + 4));
}

}  // namespace
}  // namespace linesmith
