// SPDX-License-Identifier: GPL-2.0-or-later
// What each oddity of A64 becomes in neutral terms; words as assemblers write them.
#include <elf.h>

#include "expected_instructions.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kStart = 0xffff800008010100;
constexpr RegisterNumber kStack = 31;

Instruction One(std::uint32_t word, bool kernel = true) {
  std::vector<std::uint8_t> bytes;
  for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::uint8_t>(word >> (8 * i)));
  std::vector<Instruction> instructions;
  MakeInstructionDecoder(EM_AARCH64, kernel)->Decode({.address = kStart, .bytes = bytes}, instructions);
  EXPECT_EQ(instructions.size(), 1u);
  return instructions.empty() ? Instruction{} : instructions[0];
}

void ExpectConstant(const Instruction& instruction, std::uint64_t value) {
  EXPECT_EQ(instruction.effect, Effect::kConstant);
  EXPECT_EQ(instruction.target, 0);
  EXPECT_EQ(static_cast<std::uint64_t>(instruction.constant), value);
}

TEST(Arm64Code, LoadsAndStores) {
  ExpectLoad(One(0xf9400420), 0, 8);  // ldr x0,[x1,#8]
  ExpectOneUse(One(0xf9400420), 1, 8, 8, AccessKind::kRead);
  ExpectLoad(One(0xb9800420), 0, 4);          // ldrsw x0,[x1,#4]
  const Instruction store = One(0xf9000420);  // str x0,[x1,#8]
  EXPECT_EQ(store.source, 0);
  ExpectOneUse(store, 1, 8, 8, AccessKind::kWrite);
}

TEST(Arm64Code, ZeroRegisterIsNone) {
  EXPECT_EQ(One(0xb900083f).source, kNoRegister);  // str wzr,[x1,#8]
  ExpectConstant(One(0xaa1f03e0), 0);              // mov x0,xzr
}

TEST(Arm64Code, IndexIsScaledByTheWidth) {
  const Instruction load = One(0xb8627820);  // ldr w0,[x1,x2,lsl #2]
  EXPECT_EQ(load.uses[0].address.index, 2);
  EXPECT_EQ(load.uses[0].address.scale, 4);
}

TEST(Arm64Code, PostIndexMovesTheBaseAfterwards) {
  const Instruction load = One(0xf8410420);  // ldr x0,[x1],#16
  ExpectOneUse(load, 1, 0, 8, AccessKind::kRead);
  EXPECT_EQ(load.advanced, 1);
  EXPECT_EQ(load.advance, 16);
}

TEST(Arm64Code, PreIndexIsADisplacementToo) {
  const Instruction load = One(0xf8410c20);  // ldr x0,[x1,#16]!
  ExpectOneUse(load, 1, 16, 8, AccessKind::kRead);
  EXPECT_EQ(load.advanced, 1);
  EXPECT_EQ(load.advance, 16);
}

TEST(Arm64Code, PairLoadsTwoRegisters) {
  const Instruction pair = One(0xa9410820);  // ldp x0,x2,[x1,#16]
  ExpectLoad(pair, 0, 8);
  EXPECT_EQ(pair.other, 2);
  ASSERT_EQ(pair.use_count, 2);
  ExpectUse(pair.uses[0], 1, 16, 8, AccessKind::kRead);
  ExpectUse(pair.uses[1], 1, 24, 8, AccessKind::kRead);
}

TEST(Arm64Code, PrologueAndEpilogueMoveTheStack) {
  const Instruction push = One(0xa9be7bfd);  // stp x29,x30,[sp,#-32]!
  EXPECT_EQ(push.stack_change, -32);
  EXPECT_EQ(push.advanced, kNoRegister);
  EXPECT_EQ(push.source, 29);
  EXPECT_EQ(push.other, 30);
  ExpectUse(push.uses[0], kStack, -32, 8, AccessKind::kWrite);
  ExpectUse(push.uses[1], kStack, -24, 8, AccessKind::kWrite);
  EXPECT_EQ(One(0xa8c27bfd).stack_change, 32);  // ldp x29,x30,[sp],#32
  const Instruction frame = One(0xd10103ff);    // sub sp,sp,#64
  EXPECT_EQ(frame.effect, Effect::kAdd);
  EXPECT_EQ(frame.target, kStack);
  EXPECT_EQ(frame.constant, -64);
}

TEST(Arm64Code, PairWithTheZeroRegisterStoresTheOther) {
  const Instruction pair = One(0xa900083f);  // stp xzr,x2,[x1]
  EXPECT_EQ(pair.source, kNoRegister);
  EXPECT_EQ(pair.other, 2);
}

TEST(Arm64Code, AcquireAndReleaseArePlain) {
  ExpectOneUse(One(0x88dffc20), 1, 0, 4, AccessKind::kRead);   // ldar w0,[x1]
  ExpectOneUse(One(0x889ffc20), 1, 0, 4, AccessKind::kWrite);  // stlr w0,[x1]
}

TEST(Arm64Code, ExclusiveStoreIsTheAtomicOne) {
  ExpectOneUse(One(0xc85f7c20), 1, 0, 8, AccessKind::kRead);  // ldxr x0,[x1]
  const Instruction store = One(0xc8027c20);                  // stxr w2,x0,[x1]
  ExpectOneUse(store, 1, 0, 8, AccessKind::kAtomic);
  EXPECT_EQ(store.clobbered, 1u << 2);
}

TEST(Arm64Code, AtomicsLoadTheOldValue) {
  ExpectOneUse(One(0xb8220020), 1, 0, 4, AccessKind::kAtomic);  // ldadd w2,w0,[x1]
  ExpectLoad(One(0xb8220020), 0, 4);
  ExpectLoad(One(0xf8228020), 0, 8);                 // swp x2,x0,[x1]
  ExpectLoad(One(0xc8e2fc23), 2, 8);                 // casal x2,x3,[x1]
  EXPECT_EQ(One(0xb822003f).effect, Effect::kNone);  // stadd w2,[x1]
}

TEST(Arm64Code, PairwiseCompareAndSwap) {
  const Instruction swap = One(0x48227c24);  // casp x2,x3,x4,x5,[x1]
  ASSERT_EQ(swap.use_count, 2);
  ExpectUse(swap.uses[1], 1, 8, 8, AccessKind::kAtomic);
  ExpectLoad(swap, 2, 8);
  EXPECT_EQ(swap.other, 3);
}

TEST(Arm64Code, VectorsMoveTheBaseByTheirWidth) {
  const Instruction load = One(0x4cdfa020);  // ld1 {v0.16b,v1.16b},[x1],#32
  ExpectOneUse(load, 1, 0, 32, AccessKind::kRead);
  EXPECT_EQ(load.effect, Effect::kNone);
  EXPECT_EQ(load.advance, 32);
  ExpectOneUse(One(0x3dc00820), 1, 32, 16, AccessKind::kRead);  // ldr q0,[x1,#32]
}

TEST(Arm64Code, LiteralLoadIsAbsolute) {
  const Instruction load = One(0x58000080);  // ldr x0,.+16
  ASSERT_EQ(load.use_count, 1);
  EXPECT_TRUE(load.uses[0].address.absolute);
  EXPECT_EQ(static_cast<std::uint64_t>(load.uses[0].address.displacement), kStart + 16);
}

TEST(Arm64Code, PrefetchTouchesNothing) { EXPECT_EQ(One(0xf9800000).use_count, 0); }

TEST(Arm64Code, BlockOfZeroesHasNoKnownWidth) {
  ExpectOneUse(One(0xd50b7423), 3, 0, 0, AccessKind::kWrite);  // dc zva,x3
}

TEST(Arm64Code, PagesAndConstants) {
  ExpectConstant(One(0xb0000000), 0xffff800008011000);  // adrp x0,.+0x1000
  ExpectConstant(One(0xd2824680), 0x1234);              // mov x0,#0x1234
  ExpectConstant(One(0x92800000), ~std::uint64_t{0});   // mov x0,#-1
  ExpectConstant(One(0xb2401fe0), 0xff);                // orr x0,xzr,#0xff
  EXPECT_EQ(One(0xf2a00020).effect, Effect::kValue);    // movk x0,#1,lsl #16
}

TEST(Arm64Code, MasksOfPointers) {
  const Instruction mask = One(0x927df020);  // and x0,x1,#~7
  EXPECT_EQ(mask.effect, Effect::kMask);
  EXPECT_EQ(mask.source, 1);
  EXPECT_EQ(mask.constant, -8);
}

TEST(Arm64Code, AdditionsOfConstants) {
  const Instruction add = One(0x91004000);  // add x0,x0,#16
  EXPECT_EQ(add.effect, Effect::kAdd);
  EXPECT_EQ(add.constant, 16);
  EXPECT_EQ(One(0xf1000420).constant, -1);           // subs x0,x1,#1
  EXPECT_EQ(One(0xf100041f).effect, Effect::kNone);  // cmp x0,#1
  EXPECT_EQ(One(0x910003e0).effect, Effect::kMove);  // mov x0,sp
  EXPECT_EQ(One(0x910003e0).source, kStack);
}

TEST(Arm64Code, AdditionsOfRegisters) {
  EXPECT_EQ(One(0x8b020020).effect, Effect::kSum);  // add x0,x1,x2
  const Instruction shifted = One(0x8b021020);      // add x0,x1,x2,lsl #4
  EXPECT_EQ(shifted.effect, Effect::kAddress);
  EXPECT_EQ(shifted.operand.base, 1);
  EXPECT_EQ(shifted.operand.index, 2);
  EXPECT_EQ(shifted.operand.scale, 16);
  EXPECT_EQ(One(0x8b22cc20).operand.scale, 8);  // add x0,x1,w2,sxtw #3
}

TEST(Arm64Code, ElementsWhoseSizeIsNoPowerOfTwo) {
  const Instruction element = One(0x9ba30440);  // umaddl x0,w2,w3,x1
  EXPECT_EQ(element.effect, Effect::kAddress);
  EXPECT_EQ(element.operand.base, 1);
  EXPECT_EQ(element.operand.scale, 0);
}

TEST(Arm64Code, HalfRegistersHoldNumbers) {
  EXPECT_EQ(One(0xaa0103e0).effect, Effect::kMove);   // mov x0,x1
  EXPECT_EQ(One(0x2a0103e0).effect, Effect::kValue);  // mov w0,w1
}

TEST(Arm64Code, Selections) {
  const Instruction kept = One(0x9a810000);  // csel x0,x0,x1,eq
  EXPECT_EQ(kept.effect, Effect::kSelect);
  EXPECT_EQ(kept.source, 1);
  EXPECT_EQ(kept.other, kNoRegister);
  const Instruction of_two = One(0x9a810040);  // csel x0,x2,x1,eq
  EXPECT_EQ(of_two.source, 2);
  EXPECT_EQ(of_two.other, 1);
  const Instruction or_null = One(0x9a9f1020);  // csel x0,x1,xzr,ne
  EXPECT_EQ(or_null.effect, Effect::kMove);
  EXPECT_EQ(or_null.source, 1);
  EXPECT_EQ(One(0x1a9f17e0).effect, Effect::kValue);  // cset w0,eq
}

TEST(Arm64Code, SystemRegistersLeadSomewhere) {
  const auto segment = [](std::uint32_t word, bool kernel) { return One(word, kernel).operand.segment; };
  EXPECT_EQ(segment(0xd538d080, true), Segment::kPerCpu);   // mrs x0,tpidr_el1
  EXPECT_EQ(segment(0xd5384100, true), Segment::kTask);     // mrs x0,sp_el0
  EXPECT_EQ(segment(0xd53bd040, false), Segment::kThread);  // mrs x0,tpidr_el0
  EXPECT_EQ(One(0xd538d080).effect, Effect::kAddress);
  EXPECT_EQ(One(0xd53be040).effect, Effect::kValue);  // mrs x0,cntvct_el0
  EXPECT_EQ(One(0xd51bd040).effect, Effect::kNone);   // msr tpidr_el0,x0
}

TEST(Arm64Code, Flows) {
  const auto flow = [](std::uint32_t word) { return One(word).flow; };
  EXPECT_EQ(flow(0x14000002), Flow::kJump);          // b
  EXPECT_EQ(flow(0x94000002), Flow::kCall);          // bl
  EXPECT_EQ(flow(0x54000040), Flow::kBranch);        // b.eq
  EXPECT_EQ(flow(0xb4000040), Flow::kBranch);        // cbz
  EXPECT_EQ(flow(0x37180040), Flow::kBranch);        // tbnz
  EXPECT_EQ(flow(0xd61f0060), Flow::kIndirectJump);  // br x3
  EXPECT_EQ(flow(0xd63f0060), Flow::kIndirectCall);  // blr x3
  EXPECT_EQ(flow(0xd65f03c0), Flow::kReturn);        // ret
  EXPECT_EQ(flow(0xd4210000), Flow::kStop);          // brk #0x800
  EXPECT_EQ(flow(0xd503245f), Flow::kNext);          // bti c
  EXPECT_EQ(One(0x17ffffff).destination, kStart - 4);
  EXPECT_EQ(One(0xd63f0060).source, 3);
}

TEST(Arm64Code, ConversionsNameVectorRegisters) {
  EXPECT_EQ(One(0x9e660020).effect, Effect::kValue);  // fmov x0,d1
  EXPECT_EQ(One(0x9e670001).effect, Effect::kNone);   // fmov d1,x0
}

TEST(Arm64Code, PointerAuthenticationKeepsThePointer) { EXPECT_EQ(One(0xdac143e0).effect, Effect::kNone); }

TEST(Arm64Code, WordsOfNoInstruction) {
  EXPECT_FALSE(One(0x00000000).decoded);  // udf #0
  EXPECT_FALSE(One(0x2518e40f).decoded);  // pfalse p15.b: scalable vectors are not read
}

TEST(Arm64Code, CutWordIsOneUnknown) {
  std::vector<Instruction> instructions;
  const std::vector<std::uint8_t> bytes = {0x20, 0x04, 0x40};
  MakeInstructionDecoder(EM_AARCH64, true)->Decode({.address = kStart, .bytes = bytes}, instructions);
  ASSERT_EQ(instructions.size(), 1u);
  EXPECT_FALSE(instructions[0].decoded);
  EXPECT_EQ(instructions[0].length, 3);
}

}  // namespace
}  // namespace linesmith
