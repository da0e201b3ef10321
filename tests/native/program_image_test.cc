// SPDX-License-Identifier: GPL-2.0-or-later
// Where the image puts code, data and symbols, and what it knows of code that Linux replaces.
#include "program/program_image.h"

#include <elf.h>

#include <algorithm>
#include <memory>

#include "assembled.h"
#include "base/error.h"

namespace linesmith {
namespace {

std::uint32_t ChangedByFirstCall(const Program& program) {
  const auto decoder = MakeInstructionDecoder(program.image->machine(), true);
  return program.image->ChangedByCall(program.Code()[0], decoder->convention());
}

constexpr std::uint32_t Bit(unsigned reg) { return 1u << reg; }

TEST(ProgramImage, SectionsOfObjectsLieBehindEachOther) {
  const Program program = Load(kX86, ".text\n ret\n .data\n .quad 1\n .section .text.cold,\"ax\"\n ret\n");
  EXPECT_EQ(program.Place(".text"), kRelocatableBase);
  EXPECT_EQ(program.Place(".text.cold") % 0x1000, 0u);
  EXPECT_GT(program.Place(".text.cold"), program.Place(".data"));
  EXPECT_TRUE(program.image->IsCode(program.Place(".text.cold")));
  EXPECT_FALSE(program.image->IsCode(program.Place(".data")));
  EXPECT_EQ(program.image->At(program.Place(".data")).size(), 8u);
}

TEST(ProgramImage, CodeOfObjectsIsRelocated) {
  const Program program = Load(kX86, R"(
    .text
    mov counter(%rip), %eax
    mov $counter, %edi
    call helper
    .section .text.cold, "ax"
    .type helper, @function
helper: ret
    .size helper, 1
    .data
    .long 7
    .type counter, @object
counter: .long 0
    .size counter, 4
)");
  const std::vector<Instruction> code = program.Code();
  const ImageSymbol* counter = program.Named("counter");
  ASSERT_NE(counter, nullptr);
  EXPECT_EQ(counter->address, program.Place(".data") + 4);
  EXPECT_EQ(static_cast<std::uint64_t>(code[0].uses[0].address.displacement), counter->address);
  EXPECT_EQ(static_cast<std::uint64_t>(code[1].constant), counter->address);
  EXPECT_EQ(code[2].destination, program.Place(".text.cold"));
  EXPECT_EQ(program.image->SymbolAt(code[2].destination)->name, "helper");
}

TEST(ProgramImage, SymbolsOfOtherFilesAreToldApart) {
  const Program program = Load(kX86, "call first\n call second\n mov array+4000(%rip), %eax\n");
  const std::vector<Instruction> code = program.Code();
  const auto name = [&](std::int64_t address) {
    return program.image->SymbolAt(static_cast<std::uint64_t>(address))->name;
  };
  EXPECT_EQ(name(static_cast<std::int64_t>(code[0].destination)), "first");
  EXPECT_EQ(name(static_cast<std::int64_t>(code[1].destination)), "second");
  EXPECT_EQ(name(code[2].uses[0].address.displacement), "array");
  EXPECT_FALSE(program.image->IsCode(code[0].destination));
}

TEST(ProgramImage, GlobalOffsetTableIsLookedThrough) {
  const Program program = Load(kX86, R"(
    mov counter@GOTPCREL(%rip), %rax
    call *helper@GOTPCREL(%rip)
    .comm counter, 8
)");
  const std::vector<Instruction> code = program.Code();
  EXPECT_EQ(code[0].effect, Effect::kConstant);
  EXPECT_EQ(program.image->SymbolAt(static_cast<std::uint64_t>(code[0].constant))->name, "counter");
  EXPECT_EQ(code[1].flow, Flow::kCall);
  EXPECT_EQ(program.image->SymbolAt(code[1].destination)->name, "helper");
}

TEST(ProgramImage, ThreadsBlockIsCountedFromItsStart) {
  const Program program = Load(kX86, R"(
    mov %fs:mine@tpoff, %eax
    .section .tbss, "awT", @nobits
    .zero 8
    .type mine, @tls_object
mine: .zero 4
    .size mine, 4
)");
  const std::int64_t displacement = program.Code()[0].uses[0].address.displacement;
  EXPECT_LT(displacement, 0);
  EXPECT_EQ(program.image->ThreadOffset(displacement), 8u);
}

TEST(ProgramImage, FunctionsOnceUnderTheirFirstName) {
  const Program program = Load(kX86, R"(
    .type one, @function
    .type alias, @function
one:
alias: ret
    .size one, 1
    .size alias, 1
    .type two, @function
two: ret
    .size two, 1
label: ret
)");
  const std::vector<ImageSymbol>& functions = program.image->functions();
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "one");
  EXPECT_EQ(functions[1].name, "two");
  EXPECT_EQ(functions[1].address, functions[0].address + 1);
}

TEST(ProgramImage, SmallestSymbolThatCovers) {
  const Program program = Load(kX86, R"(
    .data
outer: .quad 0
inner: .quad 0
    .quad 0
    .size outer, 24
    .size inner, 8
)");
  const std::uint64_t start = program.Place(".data");
  EXPECT_EQ(program.image->SymbolAt(start + 8)->name, "inner");
  EXPECT_EQ(program.image->SymbolAt(start + 16)->name, "outer");
  EXPECT_EQ(program.image->SymbolAt(start + 24), nullptr);
}

TEST(ProgramImage, JumpTablesOfEveryKind) {
  const Program program = Load(kX86, R"(
first: nop
second: ret
    .section .rodata
table: .long first - table, second - table
wide: .quad second, first
narrow: .byte -1, 0
)");
  const std::uint64_t code = program.Place(".text");
  const std::uint64_t table = program.Place(".rodata");
  const auto targets = [&](const JumpTable& asked) {
    return std::pair{program.image->JumpTarget(asked, 0), program.image->JumpTarget(asked, 1)};
  };
  EXPECT_EQ(targets({.address = table, .entry_bytes = 4, .base = table}), (std::pair{code, code + 1}));
  EXPECT_EQ(targets({.address = table + 8, .entry_bytes = 8}), (std::pair{code + 1, code}));
  const JumpTable narrow{.address = table + 24, .entry_bytes = 1, .base = code + 1, .scale = 4};
  EXPECT_EQ(targets(narrow), (std::pair{code - 3, code + 1}));
  EXPECT_EQ(program.image->JumpTarget(narrow, 2), 0u);
  EXPECT_EQ(program.image->JumpTarget({.address = 0}, 0), 0u);
}

TEST(ProgramImage, HooksKeepRegistersAndOrdinaryCallsDoNot) {
  EXPECT_EQ(ChangedByFirstCall(Load(kX86, "call __fentry__\n")), 0u);
  EXPECT_EQ(ChangedByFirstCall(Load(kX86, "call __get_user_4\n")), Bit(0) | Bit(1));
  const std::uint32_t ordinary = ChangedByFirstCall(Load(kX86, "call kfree\n"));
  EXPECT_NE(ordinary & Bit(5), 0u);  // rdi
  EXPECT_EQ(ordinary & Bit(3), 0u);  // rbx
}

TEST(ProgramImage, ParavirtualCallsKeepWhatTheirImplementationKeeps) {
  const Program program = Load(kX86, R"(
    call *pv_ops(%rip)
    .type __raw_callee_save_native, @function
__raw_callee_save_native: ret
    .size __raw_callee_save_native, 1
    .data
    .type pv_ops, @object
pv_ops: .quad __raw_callee_save_native
    .size pv_ops, 8
)");
  EXPECT_EQ(ChangedByFirstCall(program), Bit(0));
}

TEST(ProgramImage, PerCpuSectionHasARange) {
  const Program program = Load(kX86, ".section .data..percpu, \"aw\"\n .quad 0, 0\n");
  EXPECT_EQ(program.image->percpu_first(), program.Place(".data..percpu"));
  EXPECT_EQ(program.image->percpu_last(), program.image->percpu_first() + 16);
}

TEST(ProgramImage, Arm64CodeIsRelocated) {
  const Program program = Load(kArm64, R"(
    .text
    adrp x0, counter
    add x0, x0, :lo12:counter
    ldr w1, [x0, :lo12:counter]
    bl helper
    adrp x2, :got:counter
    ldr x2, [x2, :got_lo12:counter]
    cbz x2, 1f
1:  ret
    .data
    .quad 0
    .type counter, %object
counter: .word 0
    .size counter, 4
)");
  if (program.image == nullptr) GTEST_SKIP() << "aarch64-linux-gnu-as is not installed";
  const std::vector<Instruction> code = program.Code();
  const std::uint64_t counter = program.Place(".data") + 8;
  EXPECT_EQ(static_cast<std::uint64_t>(code[0].constant + code[1].constant), counter);
  EXPECT_EQ(static_cast<std::uint64_t>(code[2].uses[0].address.displacement), counter % 0x1000);
  EXPECT_EQ(program.image->SymbolAt(code[3].destination)->name, "helper");
  EXPECT_EQ(code[5].effect, Effect::kAdd);
  EXPECT_EQ(static_cast<std::uint64_t>(code[4].constant + code[5].constant), counter);
  EXPECT_EQ(code[6].destination, code[7].address);
}

TEST(ProgramImage, LinkedFilesKeepTheirAddresses) {
  ElfFile elf = ElfFile::Open("/proc/self/exe");
  const ProgramImage image(elf, elf);
  EXPECT_FALSE(image.is_kernel());
  ASSERT_FALSE(image.functions().empty());
  const ImageSymbol& function = image.functions()[image.functions().size() / 2];
  EXPECT_TRUE(image.IsCode(function.address));
  ASSERT_NE(image.SymbolAt(function.address), nullptr);
  EXPECT_GE(image.At(function.address).size(), function.size);
  EXPECT_TRUE(image.At(0).empty() || !image.IsCode(0));
}

TEST(ProgramImage, StubsHaveTheNamesOfWhatTheyLeadTo) {
  ElfFile elf = ElfFile::Open("/proc/self/exe");
  const ProgramImage image(elf, elf);
  const std::uint64_t stub = image.AddressOfSymbol("memcpy");
  ASSERT_NE(stub, 0u) << "this program calls memcpy through its linkage table";
  EXPECT_TRUE(image.IsCode(stub));
  EXPECT_EQ(image.SymbolAt(stub)->name, "memcpy");
  const auto is_stub = [&](const ImageSymbol& function) { return function.address == stub; };
  EXPECT_TRUE(std::ranges::none_of(image.functions(), is_stub));
}

TEST(ProgramImage, DamageIsAnErrorOrAnotherImage) {
  const Program sound = Load(kX86, R"(
    mov counter(%rip), %eax
    call helper
    .section __bug_table, "aw"
    .long .text - ., 0
    .word 0, 1
    .section __jump_table, "aw"
    .long .text - ., .text - .
    .quad 0
    .data
counter: .quad counter
)");
  for (std::size_t at = 16; at < sound.bytes.size(); ++at) {
    for (const std::uint8_t value : {0x00, 0x7f, 0xff}) {
      std::vector<std::uint8_t> bytes = sound.bytes;
      bytes[at] = value;
      try {
        ElfFile elf = ElfFile::FromMemory("damaged.o", bytes);
        const ProgramImage image(elf, elf);
        image.SymbolAt(kRelocatableBase);
        image.JumpTarget({.address = kRelocatableBase}, 1);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind, "ElfError");
      }
    }
  }
}

}  // namespace
}  // namespace linesmith
