// SPDX-License-Identifier: GPL-2.0-or-later
// What each oddity of x86-64 becomes in neutral terms; bytes as assemblers write them.
#include <elf.h>

#include "expected_instructions.h"

namespace linesmith {
namespace {

constexpr RegisterNumber kRax = 0, kRdx = 1, kRcx = 2, kRbx = 3, kRsi = 4, kRdi = 5, kRbp = 6, kRsp = 7,
                         kR12 = 12;
constexpr std::uint64_t kStart = 0xffffffff81000000;

std::vector<Instruction> Decoded(const std::vector<std::uint8_t>& bytes, bool kernel = true) {
  std::vector<Instruction> instructions;
  MakeInstructionDecoder(EM_X86_64, kernel)->Decode({.address = kStart, .bytes = bytes}, instructions);
  return instructions;
}

Instruction One(const std::vector<std::uint8_t>& bytes, bool kernel = true) {
  const std::vector<Instruction> instructions = Decoded(bytes, kernel);
  EXPECT_EQ(instructions.size(), 1u);
  return instructions.empty() ? Instruction{} : instructions[0];
}

TEST(MachineCode, TwoMachines) {
  EXPECT_NE(MakeInstructionDecoder(EM_X86_64, true), nullptr);
  EXPECT_NE(MakeInstructionDecoder(EM_AARCH64, true), nullptr);
  EXPECT_EQ(MakeInstructionDecoder(EM_RISCV, true), nullptr);
}

TEST(X86Code, LoadOfAMember) {
  const Instruction load = One({0x48, 0x8b, 0x47, 0x08});  // mov 8(%rdi),%rax
  ExpectLoad(load, kRax, 8);
  ExpectOneUse(load, kRdi, 8, 8, AccessKind::kRead);
}

TEST(X86Code, StoreNamesTheRegisterThatItKeeps) {
  const Instruction store = One({0x48, 0x89, 0x47, 0x08});  // mov %rax,8(%rdi)
  EXPECT_EQ(store.effect, Effect::kNone);
  EXPECT_EQ(store.source, kRax);
  ExpectOneUse(store, kRdi, 8, 8, AccessKind::kWrite);
}

TEST(X86Code, StoreOfHalfARegisterKeepsNoPointer) {
  EXPECT_EQ(One({0x89, 0x47, 0x08}).source, kNoRegister);  // mov %eax,8(%rdi)
}

TEST(X86Code, MoveOfAWholeRegister) {
  const Instruction move = One({0x48, 0x89, 0xf8});  // mov %rdi,%rax
  EXPECT_EQ(move.effect, Effect::kMove);
  EXPECT_EQ(move.target, kRax);
  EXPECT_EQ(move.source, kRdi);
}

TEST(X86Code, MoveOfHalfARegisterIsANumber) {
  const Instruction move = One({0x89, 0xf8});  // mov %edi,%eax
  EXPECT_EQ(move.effect, Effect::kTruncate);
  EXPECT_EQ(move.target, kRax);
}

TEST(X86Code, HighByteIsANumberInItsRegister) {
  const Instruction move = One({0x88, 0xc4});  // mov %al,%ah
  EXPECT_EQ(move.effect, Effect::kValue);
  EXPECT_EQ(move.target, kRax);
}

TEST(X86Code, ExtendingLoads) {
  ExpectLoad(One({0x0f, 0xb6, 0x47, 0x10}), kRax, 1);            // movzbl 16(%rdi),%eax
  ExpectLoad(One({0x48, 0x63, 0x47, 0x10}), kRax, 4);            // movslq 16(%rdi),%rax
  EXPECT_EQ(One({0x48, 0x63, 0xc7}).effect, Effect::kTruncate);  // movslq %edi,%rax
}

TEST(X86Code, ShiftsAndProductsByConstantsScale) {
  const Instruction shift = One({0x48, 0xc1, 0xe0, 0x04});  // shl $4,%rax
  EXPECT_EQ(shift.effect, Effect::kScale);
  EXPECT_EQ(shift.constant, 16);
  const Instruction product = One({0x48, 0x6b, 0xc7, 0x38});  // imul $0x38,%rdi,%rax
  EXPECT_EQ(product.effect, Effect::kScale);
  EXPECT_EQ(product.source, kRdi);
  EXPECT_EQ(product.constant, 0x38);
}

TEST(X86Code, ConstantsOf32BitsAreExtendedAsTheInstructionSays) {
  EXPECT_EQ(One({0xbf, 0x00, 0x10, 0x00, 0x82}).constant, 0x82001000);       // mov $0x82001000,%edi
  const Instruction move = One({0x48, 0xc7, 0xc7, 0x00, 0x10, 0x00, 0x82});  // mov $0xffffffff82001000,%rdi
  EXPECT_EQ(move.effect, Effect::kConstant);
  EXPECT_EQ(static_cast<std::uint64_t>(move.constant), 0xffffffff82001000);
}

TEST(X86Code, ExclusiveOrOfARegisterWithItselfIsZero) {
  const Instruction zero = One({0x31, 0xc0});  // xor %eax,%eax
  EXPECT_EQ(zero.effect, Effect::kConstant);
  EXPECT_EQ(zero.constant, 0);
}

TEST(X86Code, LeaTouchesNothing) {
  const Instruction lea = One({0x48, 0x8d, 0x44, 0xb7, 0x10});  // lea 16(%rdi,%rsi,4),%rax
  EXPECT_EQ(lea.use_count, 0);
  EXPECT_EQ(lea.effect, Effect::kAddress);
  EXPECT_EQ(lea.operand.base, kRdi);
  EXPECT_EQ(lea.operand.index, kRsi);
  EXPECT_EQ(lea.operand.scale, 4);
  EXPECT_EQ(lea.operand.displacement, 16);
}

TEST(X86Code, LeaRelativeToTheInstructionIsAConstant) {
  const Instruction lea = One({0x48, 0x8d, 0x05, 0x10, 0x00, 0x00, 0x00});  // lea 0x10(%rip),%rax
  EXPECT_EQ(lea.effect, Effect::kConstant);
  EXPECT_EQ(static_cast<std::uint64_t>(lea.constant), kStart + 7 + 0x10);
}

TEST(X86Code, RelativeToTheInstructionIsAbsolute) {
  const Instruction load = One({0x48, 0x8b, 0x05, 0xf9, 0xff, 0xff, 0xff});  // mov -7(%rip),%rax
  EXPECT_TRUE(load.uses[0].address.absolute);
  EXPECT_EQ(static_cast<std::uint64_t>(load.uses[0].address.displacement), kStart);
}

TEST(X86Code, TableIndexedFromAFixedAddressKeepsItsNegativeDisplacement) {
  const Instruction load =
      One({0x48, 0x8b, 0x04, 0xc5, 0x00, 0x10, 0x00, 0x82});  // mov -0x7dfff000(,%rax,8),%rax
  const Address& address = load.uses[0].address;
  EXPECT_EQ(address.base, kNoRegister);
  EXPECT_EQ(address.index, kRax);
  EXPECT_EQ(address.scale, 8);
  EXPECT_FALSE(address.absolute);
  EXPECT_EQ(static_cast<std::uint64_t>(address.displacement), 0xffffffff82001000);
}

TEST(X86Code, SegmentsOfKernelAndProgram) {
  const std::vector<std::uint8_t> gs = {0x65, 0x48, 0x8b, 0x04, 0x25,
                                        0x40, 0x01, 0x00, 0x00};  // mov %gs:0x140,%rax
  const std::vector<std::uint8_t> fs = {0x64, 0x48, 0x8b, 0x04, 0x25,
                                        0xf8, 0xff, 0xff, 0xff};  // mov %fs:-8,%rax
  const Address current = One(gs).uses[0].address;
  EXPECT_EQ(current.segment, Segment::kPerCpu);
  EXPECT_TRUE(current.absolute);
  EXPECT_EQ(current.displacement, 0x140);
  const Address thread = One(fs, false).uses[0].address;
  EXPECT_EQ(thread.segment, Segment::kThread);
  EXPECT_EQ(thread.displacement, -8);
}

TEST(X86Code, AddOfConstantRegisterAndMemory) {
  const Instruction constant = One({0x48, 0x83, 0xc7, 0x28});  // add $0x28,%rdi
  EXPECT_EQ(constant.effect, Effect::kAdd);
  EXPECT_EQ(constant.constant, 0x28);
  const Instruction reg = One({0x48, 0x01, 0xf7});  // add %rsi,%rdi
  EXPECT_EQ(reg.effect, Effect::kSum);
  EXPECT_EQ(reg.other, kRsi);
  const Instruction memory = One({0x65, 0x48, 0x03, 0x04, 0x25, 0x08, 0x00, 0x00, 0x00});  // add %gs:8,%rax
  EXPECT_EQ(memory.effect, Effect::kSum);
  EXPECT_EQ(memory.other, kNoRegister);
  EXPECT_EQ(memory.use_count, 1);
}

TEST(X86Code, SubtractionOfAConstantIsAnAddition) {
  const Instruction sub = One({0x48, 0x83, 0xef, 0x28});  // sub $0x28,%rdi
  EXPECT_EQ(sub.effect, Effect::kAdd);
  EXPECT_EQ(sub.constant, -0x28);
  EXPECT_EQ(One({0x48, 0x29, 0xf7}).effect, Effect::kValue);  // sub %rsi,%rdi
  EXPECT_EQ(One({0x48, 0xff, 0xcf}).constant, -1);            // dec %rdi
}

TEST(X86Code, MasksAndTags) {
  const Instruction mask = One({0x48, 0x83, 0xe0, 0xfc});  // and $~3,%rax
  EXPECT_EQ(mask.effect, Effect::kMask);
  EXPECT_EQ(mask.constant, -4);
  const Instruction tag = One({0x48, 0x83, 0xc8, 0x02});  // or $2,%rax
  EXPECT_EQ(tag.effect, Effect::kAdd);
  EXPECT_EQ(tag.constant, 2);
}

TEST(X86Code, ReadModifyWrite) {
  ExpectOneUse(One({0x48, 0xff, 0x47, 0x08}), kRdi, 8, 8, AccessKind::kReadWrite);     // incq 8(%rdi)
  ExpectOneUse(One({0xf0, 0x48, 0xff, 0x47, 0x08}), kRdi, 8, 8, AccessKind::kAtomic);  // lock incq 8(%rdi)
  ExpectOneUse(One({0xc1, 0x47, 0x08, 0x03}), kRdi, 8, 4, AccessKind::kReadWrite);     // roll $3,8(%rdi)
  ExpectOneUse(One({0x48, 0x0f, 0xba, 0x67, 0x08, 0x03}), kRdi, 8, 8, AccessKind::kRead);  // btq $3,8(%rdi)
}

TEST(X86Code, ComparisonsOnlyRead) {
  ExpectOneUse(One({0x83, 0x7f, 0x08, 0x00}), kRdi, 8, 4, AccessKind::kRead);  // cmpl $0,8(%rdi)
  ExpectOneUse(One({0xf6, 0x47, 0x08, 0x01}), kRdi, 8, 1, AccessKind::kRead);  // testb $1,8(%rdi)
}

TEST(X86Code, ExchangeWithMemoryIsAtomicWithoutAPrefix) {
  const Instruction exchange = One({0x48, 0x87, 0x47, 0x08});  // xchg %rax,8(%rdi)
  ExpectOneUse(exchange, kRdi, 8, 8, AccessKind::kAtomic);
  ExpectLoad(exchange, kRax, 8);
}

TEST(X86Code, ExchangeOfRegisters) {
  const Instruction exchange = One({0x48, 0x87, 0xfe});  // xchg %rdi,%rsi
  EXPECT_EQ(exchange.effect, Effect::kExchange);
  EXPECT_EQ(exchange.target + exchange.source, kRdi + kRsi);
}

TEST(X86Code, CompareExchangeLeavesTheOldValueInRax) {
  const Instruction exchange = One({0xf0, 0x48, 0x0f, 0xb1, 0x57, 0x08});  // lock cmpxchg %rdx,8(%rdi)
  ExpectOneUse(exchange, kRdi, 8, 8, AccessKind::kAtomic);
  ExpectLoad(exchange, kRax, 8);
  EXPECT_EQ(exchange.clobbered, 0u);
}

TEST(X86Code, CompareExchangeOf16BytesWritesTwoRegisters) {
  const Instruction exchange = One({0xf0, 0x48, 0x0f, 0xc7, 0x4f, 0x10});  // lock cmpxchg16b 16(%rdi)
  ExpectOneUse(exchange, kRdi, 16, 16, AccessKind::kAtomic);
  EXPECT_EQ(exchange.clobbered, 1u << kRax | 1u << kRdx);
}

TEST(X86Code, ExchangeAndAddLoads) {
  const Instruction add = One({0xf0, 0x0f, 0xc1, 0x47, 0x08});  // lock xadd %eax,8(%rdi)
  ExpectOneUse(add, kRdi, 8, 4, AccessKind::kAtomic);
  ExpectLoad(add, kRax, 4);
}

TEST(X86Code, PushAndPopUseTheStackAsItIsBefore) {
  const Instruction push = One({0x53});  // push %rbx
  EXPECT_EQ(push.stack_change, -8);
  EXPECT_EQ(push.source, kRbx);
  ExpectOneUse(push, kRsp, -8, 8, AccessKind::kWrite);
  const Instruction pop = One({0x41, 0x5c});  // pop %r12
  EXPECT_EQ(pop.stack_change, 8);
  ExpectLoad(pop, kR12, 8);
  ExpectOneUse(pop, kRsp, 0, 8, AccessKind::kRead);
}

TEST(X86Code, PushOfMemoryReadsItFirst) {
  const Instruction push = One({0xff, 0x77, 0x08});  // push 8(%rdi)
  ASSERT_EQ(push.use_count, 2);
  ExpectUse(push.uses[0], kRdi, 8, 8, AccessKind::kRead);
  ExpectUse(push.uses[1], kRsp, -8, 8, AccessKind::kWrite);
}

TEST(X86Code, LeaveTakesTheStackBackToTheFrame) {
  const Instruction leave = One({0xc9});
  EXPECT_EQ(leave.effect, Effect::kAdd);
  EXPECT_EQ(leave.target, kRsp);
  EXPECT_EQ(leave.source, kRbp);
  EXPECT_EQ(leave.constant, 8);
  EXPECT_EQ(leave.clobbered, 1u << kRbp);
  ExpectOneUse(leave, kRbp, 0, 8, AccessKind::kRead);
}

TEST(X86Code, RepeatedStringsTouchASizeThatNobodyKnows) {
  const Instruction copy = One({0xf3, 0x48, 0xa5});  // rep movsq
  ASSERT_EQ(copy.use_count, 2);
  ExpectUse(copy.uses[0], kRdi, 0, 0, AccessKind::kWrite);
  ExpectUse(copy.uses[1], kRsi, 0, 0, AccessKind::kRead);
  EXPECT_EQ(copy.clobbered, 1u << kRdi | 1u << kRsi | 1u << kRcx);
}

TEST(X86Code, OneStringElementHasItsWidth) {
  const Instruction fill = One({0x48, 0xab});  // stosq
  ExpectOneUse(fill, kRdi, 0, 8, AccessKind::kWrite);
  EXPECT_EQ(fill.clobbered, 1u << kRdi);
}

TEST(X86Code, ComparedStringsAreOnlyRead) {
  for (const MemoryUse& use : One({0xa6}).uses) EXPECT_EQ(use.kind, AccessKind::kRead);  // cmpsb
}

TEST(X86Code, TableOfBytes) {
  const Instruction translate = One({0xd7});  // xlat
  ExpectOneUse(translate, kRbx, 0, 1, AccessKind::kRead);
  ExpectLoad(translate, kRax, 1);
}

TEST(X86Code, GatheredElementsAreSomewhereBehindTheBase) {
  const Instruction gather =
      One({0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x8f});  // vpgatherdd %ymm2,(%rdi,%ymm1,4),%ymm0
  ExpectOneUse(gather, kRdi, 0, 4, AccessKind::kRead);
  EXPECT_EQ(gather.uses[0].address.scale, 0);
}

TEST(X86Code, ConditionalMoveMayKeepItsTarget) {
  const Instruction move = One({0x48, 0x0f, 0x44, 0xc7});  // cmove %rdi,%rax
  EXPECT_EQ(move.effect, Effect::kSelect);
  EXPECT_EQ(move.target, kRax);
  EXPECT_EQ(move.source, kRdi);
}

TEST(X86Code, DivisionWritesItsTwoRegisters) {
  const Instruction divide = One({0x48, 0xf7, 0xf1});  // div %rcx
  EXPECT_EQ(divide.effect, Effect::kNone);
  EXPECT_EQ(divide.clobbered, 1u << kRax | 1u << kRdx);
}

TEST(X86Code, MultiplicationByOneOperandKeepsIt) {
  const Instruction multiply = One({0x48, 0xf7, 0xe9});  // imul %rcx
  EXPECT_EQ(multiply.effect, Effect::kNone);
  EXPECT_EQ(multiply.clobbered, 1u << kRax | 1u << kRdx);
}

TEST(X86Code, Flows) {
  EXPECT_EQ(One({0xc3}).flow, Flow::kReturn);
  EXPECT_EQ(One({0x0f, 0x0b}).flow, Flow::kStop);  // ud2
  EXPECT_EQ(One({0xcc}).flow, Flow::kStop);        // int3
  EXPECT_EQ(One({0xf4}).flow, Flow::kNext);        // hlt: idle kernels wake up again
  const Instruction branch = One({0x74, 0x10});    // je
  EXPECT_EQ(branch.flow, Flow::kBranch);
  EXPECT_EQ(branch.destination, kStart + 2 + 0x10);
  const Instruction jump = One({0xe9, 0x00, 0x01, 0x00, 0x00});
  EXPECT_EQ(jump.flow, Flow::kJump);
  EXPECT_EQ(jump.destination, kStart + 5 + 0x100);
}

TEST(X86Code, CallsKeepTheStackAsItIs) {
  const Instruction call = One({0xe8, 0xfb, 0xff, 0xff, 0xff});
  EXPECT_EQ(call.flow, Flow::kCall);
  EXPECT_EQ(call.destination, kStart);
  EXPECT_EQ(call.stack_change, 0);
  EXPECT_EQ(call.use_count, 0);
}

TEST(X86Code, IndirectCallReadsThePointer) {
  const Instruction call = One({0xff, 0x50, 0x18});  // call *24(%rax)
  EXPECT_EQ(call.flow, Flow::kIndirectCall);
  ExpectOneUse(call, kRax, 24, 8, AccessKind::kRead);
  EXPECT_EQ(One({0xff, 0xd0}).source, kRax);  // call *%rax
}

TEST(X86Code, JumpThroughATable) {
  const Instruction jump = One({0xff, 0x24, 0xc5, 0x00, 0x10, 0x00, 0x82});  // jmp *-0x7dfff000(,%rax,8)
  EXPECT_EQ(jump.flow, Flow::kIndirectJump);
  ASSERT_EQ(jump.use_count, 1);
  EXPECT_EQ(jump.uses[0].address.scale, 8);
}

TEST(X86Code, AddressesThatNobodyFollows) {
  EXPECT_EQ(One({0x0f, 0x1f, 0x44, 0x00, 0x00}).use_count, 0);     // nopl 0(%rax,%rax)
  EXPECT_EQ(One({0x0f, 0x18, 0x4f, 0x08}).use_count, 0);           // prefetcht0 8(%rdi)
  EXPECT_EQ(One({0xf3, 0x0f, 0x1e, 0xfa}).effect, Effect::kNone);  // endbr64
}

TEST(X86Code, VectorsOfEveryWidth) {
  ExpectOneUse(One({0x0f, 0x11, 0x47, 0x10}), kRdi, 16, 16, AccessKind::kWrite);  // movups %xmm0,16(%rdi)
  ExpectOneUse(One({0xc5, 0xfe, 0x6f, 0x47, 0x20}), kRdi, 32, 32,
               AccessKind::kRead);                                                   // vmovdqu 32(%rdi),%ymm0
  ExpectOneUse(One({0xf2, 0x0f, 0x10, 0x47, 0x08}), kRdi, 8, 8, AccessKind::kRead);  // movsd 8(%rdi),%xmm0
  EXPECT_EQ(One({0x66, 0x48, 0x0f, 0x7e, 0xc0}).effect, Effect::kValue);             // movq %xmm0,%rax
}

TEST(X86Code, FloatingPointStateIsLarge) {
  ExpectOneUse(One({0x0f, 0xae, 0x07}), kRdi, 0, 512, AccessKind::kWrite);      // fxsave (%rdi)
  ExpectOneUse(One({0x48, 0x0f, 0xae, 0x27}), kRdi, 0, 0, AccessKind::kWrite);  // xsave64 (%rdi)
}

TEST(X86Code, UnknownInstructionsAreSteppedOverWhole) {
  const std::vector<Instruction> code =
      Decoded({0x0f, 0x01, 0xee, 0x48, 0x8b, 0x47, 0x08});  // rdpkru; mov 8(%rdi),%rax
  ASSERT_EQ(code.size(), 2u);
  EXPECT_EQ(code[0].length, 3);
  EXPECT_TRUE(code[0].decoded);
  EXPECT_EQ(code[0].clobbered, 1u << kRax | 1u << kRcx | 1u << kRdx);
  EXPECT_EQ(code[1].target, kRax);
}

TEST(X86Code, BytesThatAreNoInstruction) {
  const std::vector<Instruction> code = Decoded({0x06, 0xc3});  // push %es is gone from 64-bit mode; ret
  ASSERT_EQ(code.size(), 2u);
  EXPECT_FALSE(code[0].decoded);
  EXPECT_EQ(code[0].length, 1);
  EXPECT_EQ(code[1].flow, Flow::kReturn);
}

TEST(X86Code, EveryByteIsCoveredWhateverTheyAre) {
  const std::unique_ptr<InstructionDecoder> decoder = MakeInstructionDecoder(EM_X86_64, true);
  for (unsigned first = 0; first < 0x10000; ++first) {
    std::vector<std::uint8_t> bytes(17, static_cast<std::uint8_t>(first * 7));
    bytes[0] = static_cast<std::uint8_t>(first);
    bytes[1] = static_cast<std::uint8_t>(first >> 8);
    std::uint64_t next = kStart;
    std::vector<Instruction> instructions;
    decoder->Decode({.address = kStart, .bytes = bytes}, instructions);
    for (const Instruction& instruction : instructions) {
      ASSERT_EQ(instruction.address, next);
      ASSERT_GT(instruction.length, 0);
      next += instruction.length;
    }
    ASSERT_EQ(next, kStart + bytes.size());
  }
}

}  // namespace
}  // namespace linesmith
