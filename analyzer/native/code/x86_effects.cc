// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/x86_effects.h"

#include <array>

#include "code/x86_operands.h"

namespace linesmith {
namespace {

constexpr std::int32_t kPointerBytes = 8;
// Larger factors are no sizes of elements.
constexpr std::int64_t kMostShifted = 30;
// Flags that code adds to aligned pointers by `or`.
constexpr std::int64_t kLargestPointerTag = 7;

// The operands of one instruction, destination first.
struct Operands {
  const cs_insn& raw;
  const cs_x86& detail;
  bool kernel;
  X86Register first;
  X86Register second;

  const cs_x86_op& operator[](std::size_t position) const { return detail.operands[position]; }
  bool Memory(std::size_t position) const {
    return position < detail.op_count && detail.operands[position].type == X86_OP_MEM;
  }
  bool Immediate(std::size_t position) const {
    return position < detail.op_count && detail.operands[position].type == X86_OP_IMM;
  }
  bool SameRegister() const { return first.number != kNoRegister && first.number == second.number; }
};

using Rule = void (*)(const Operands&, Instruction&);

void Clobber(RegisterNumber reg, Instruction& instruction) {
  if (reg != kNoRegister) instruction.clobbered |= 1u << reg;
}

void SetConstant(const Operands& operands, std::int64_t value, Instruction& instruction) {
  instruction.effect = Effect::kConstant;
  instruction.target = operands.first.number;
  instruction.constant = value;
}

// The destination gets a number.
void Value(const Operands& operands, Instruction& instruction) {
  if (operands.first.number == kNoRegister) return;
  instruction.effect = Effect::kValue;
  instruction.target = operands.first.number;
}

void LoadInto(RegisterNumber target, std::size_t position, const Operands& operands,
              Instruction& instruction) {
  instruction.effect = Effect::kLoad;
  instruction.target = target;
  instruction.load_bytes = operands[position].size;
}

// mov, movabs, movzx, movsx, movsxd. A write of 32 bits clears the upper half, of fewer keeps the rest.
void Move(const Operands& operands, Instruction& instruction) {
  if (operands.Memory(0) && operands.second.bytes == kPointerBytes)
    instruction.source = operands.second.number;
  if (operands.first.number == kNoRegister) return;
  if (operands.Memory(1)) return LoadInto(operands.first.number, 1, operands, instruction);
  if (operands.Immediate(1) && operands.first.bytes >= 4) {
    const std::int64_t value = operands[1].imm;
    return SetConstant(operands, operands.first.bytes == 4 ? value & 0xffffffff : value, instruction);
  }
  if (operands.second.number == kNoRegister || operands.second.bytes < 4 || operands.first.bytes < 4) {
    return Value(operands, instruction);
  }
  instruction.effect = operands.second.bytes < kPointerBytes ? Effect::kTruncate : Effect::kMove;
  instruction.target = operands.first.number;
  instruction.source = operands.second.number;
}

void LoadAddress(const Operands& operands, Instruction& instruction) {
  if (operands.first.bytes < kPointerBytes || !operands.Memory(1)) return Value(operands, instruction);
  instruction.operand = AddressOf(operands.raw, operands[1].mem, operands.kernel);
  instruction.operand.segment = Segment::kNone;
  if (instruction.operand.absolute) {
    return SetConstant(operands, instruction.operand.displacement, instruction);
  }
  instruction.effect = Effect::kAddress;
  instruction.target = operands.first.number;
}

void AddConstant(const Operands& operands, std::int64_t value, Instruction& instruction) {
  if (operands.first.bytes < kPointerBytes) return Value(operands, instruction);
  instruction.effect = Effect::kAdd;
  instruction.target = operands.first.number;
  instruction.source = operands.first.number;
  instruction.constant = value;
}

void Add(const Operands& operands, Instruction& instruction) {
  if (operands.Immediate(1)) return AddConstant(operands, operands[1].imm, instruction);
  if (operands.first.bytes < kPointerBytes) return Value(operands, instruction);
  instruction.target = instruction.source = operands.first.number;
  instruction.effect = Effect::kSum;
  if (operands.Memory(1)) {
    instruction.load_bytes = operands[1].size;
  } else {
    instruction.other = operands.second.number;
  }
}

void Subtract(const Operands& operands, Instruction& instruction) {
  if (operands.SameRegister()) return SetConstant(operands, 0, instruction);
  if (!operands.Immediate(1)) return Value(operands, instruction);
  AddConstant(operands, static_cast<std::int64_t>(-static_cast<std::uint64_t>(operands[1].imm)), instruction);
}

// target = source * factor; a product of 32 bits is extended by zeros.
void Scale(const Operands& operands, RegisterNumber source, std::int64_t factor, Instruction& instruction) {
  if (operands.first.bytes < 4 || source == kNoRegister) return Value(operands, instruction);
  instruction.effect = Effect::kScale;
  instruction.target = operands.first.number;
  instruction.source = source;
  instruction.constant = factor;
}

void ShiftLeft(const Operands& operands, Instruction& instruction) {
  const bool fixed = operands.Immediate(1) && operands[1].imm >= 0 && operands[1].imm < kMostShifted;
  if (!fixed) return Value(operands, instruction);
  Scale(operands, operands.first.number, std::int64_t{1} << operands[1].imm, instruction);
}

void Multiply(const Operands& operands, Instruction& instruction) {
  if (!operands.Immediate(2)) return Value(operands, instruction);
  Scale(operands, operands.second.number, operands[2].imm, instruction);
}

void Increment(const Operands& operands, Instruction& instruction) { AddConstant(operands, 1, instruction); }

void Decrement(const Operands& operands, Instruction& instruction) { AddConstant(operands, -1, instruction); }

void And(const Operands& operands, Instruction& instruction) {
  if (operands.first.bytes < kPointerBytes || !operands.Immediate(1)) return Value(operands, instruction);
  AddConstant(operands, operands[1].imm, instruction);
  instruction.effect = Effect::kMask;
}

void Or(const Operands& operands, Instruction& instruction) {
  if (!operands.Immediate(1)) return Value(operands, instruction);
  const std::int64_t bits = operands[1].imm;
  if (bits == -1 && operands.first.bytes == kPointerBytes) return SetConstant(operands, -1, instruction);
  if (bits < 0 || bits > kLargestPointerTag) return Value(operands, instruction);
  AddConstant(operands, bits, instruction);
}

void ExclusiveOr(const Operands& operands, Instruction& instruction) {
  if (operands.SameRegister() && operands.first.bytes >= 4) return SetConstant(operands, 0, instruction);
  Value(operands, instruction);
}

// xchg and xadd: the register gets what the memory, or the other register, held.
void Exchange(const Operands& operands, Instruction& instruction) {
  if (operands.Memory(0)) return LoadInto(operands.second.number, 0, operands, instruction);
  if (operands.Memory(1)) return LoadInto(operands.first.number, 1, operands, instruction);
  if (operands.SameRegister()) return;
  const bool whole = operands.first.bytes == kPointerBytes;
  if (operands.raw.id != X86_INS_XCHG || !whole) {
    Clobber(operands.second.number, instruction);
    return Value(operands, instruction);
  }
  instruction.effect = Effect::kExchange;
  instruction.target = operands.first.number;
  instruction.source = operands.second.number;
}

// rax ends as what the memory held: it was equal, or it is loaded.
void CompareExchange(const Operands& operands, Instruction& instruction) {
  if (operands.Memory(0)) return LoadInto(kRax, 0, operands, instruction);
  Value(operands, instruction);
}

void ConditionalMove(const Operands& operands, Instruction& instruction) {
  if (operands.first.bytes < kPointerBytes || operands.second.number == kNoRegister) {
    return Value(operands, instruction);
  }
  instruction.effect = Effect::kSelect;
  instruction.target = operands.first.number;
  instruction.source = operands.second.number;
}

void TwoTargets(const Operands& operands, Instruction& instruction) {
  Clobber(operands.second.number, instruction);
  Value(operands, instruction);
}

MemoryUse StackUse(std::int64_t displacement, AccessKind kind) {
  return {.address = {.base = kRsp, .displacement = displacement}, .width = kPointerBytes, .kind = kind};
}

void AddUse(const MemoryUse& use, Instruction& instruction) {
  if (instruction.use_count < std::size(instruction.uses)) instruction.uses[instruction.use_count++] = use;
}

void Push(const Operands& operands, Instruction& instruction) {
  instruction.source = operands.first.number;
  AddUse(StackUse(-kPointerBytes, AccessKind::kWrite), instruction);
  instruction.stack_change = -kPointerBytes;
}

void Pop(const Operands& operands, Instruction& instruction) {
  AddUse(StackUse(0, AccessKind::kRead), instruction);
  instruction.stack_change = kPointerBytes;
  if (operands.first.number == kNoRegister) return;
  instruction.effect = Effect::kLoad;
  instruction.target = operands.first.number;
  instruction.load_bytes = kPointerBytes;
}

// mov %rbp,%rsp; pop %rbp.
void Leave(const Operands&, Instruction& instruction) {
  MemoryUse saved = StackUse(0, AccessKind::kRead);
  saved.address.base = kRbp;
  AddUse(saved, instruction);
  instruction.effect = Effect::kAdd;
  instruction.target = kRsp;
  instruction.source = kRbp;
  instruction.constant = kPointerBytes;
  Clobber(kRbp, instruction);
}

// al = the byte at rbx + al.
void Translate(const Operands&, Instruction& instruction) {
  AddUse({.address = {.base = kRbx, .index = kRax}, .width = 1}, instruction);
  instruction.effect = Effect::kLoad;
  instruction.target = kRax;
  instruction.load_bytes = 1;
}

void Branch(const Operands& operands, Instruction& instruction) {
  instruction.flow = Flow::kBranch;
  if (operands.Immediate(0)) instruction.destination = static_cast<std::uint64_t>(operands[0].imm);
}

void Jump(const Operands& operands, Instruction& instruction) {
  Branch(operands, instruction);
  instruction.flow = operands.Immediate(0) ? Flow::kJump : Flow::kIndirectJump;
  if (!operands.Immediate(0)) instruction.source = operands.first.number;
}

void Call(const Operands& operands, Instruction& instruction) {
  Branch(operands, instruction);
  instruction.flow = operands.Immediate(0) ? Flow::kCall : Flow::kIndirectCall;
  if (!operands.Immediate(0)) instruction.source = operands.first.number;
}

void Return(const Operands&, Instruction& instruction) {
  instruction.flow = Flow::kReturn;
  instruction.stack_change = kPointerBytes;
}

void Stop(const Operands&, Instruction& instruction) { instruction.flow = Flow::kStop; }

void Nothing(const Operands&, Instruction&) {}

constexpr std::array<Rule, X86_INS_ENDING> MakeRules() {
  std::array<Rule, X86_INS_ENDING> rules{};
  rules.fill(Value);
  const auto set = [&rules](Rule rule, std::initializer_list<unsigned> ids) {
    for (const unsigned id : ids) rules[id] = rule;
  };
  set(Move, {X86_INS_MOV, X86_INS_MOVABS, X86_INS_MOVZX, X86_INS_MOVSX, X86_INS_MOVSXD});
  set(LoadAddress, {X86_INS_LEA});
  set(Add, {X86_INS_ADD});
  set(Subtract, {X86_INS_SUB});
  set(ShiftLeft, {X86_INS_SHL, X86_INS_SAL});
  set(Multiply, {X86_INS_IMUL});
  set(Increment, {X86_INS_INC});
  set(Decrement, {X86_INS_DEC});
  set(And, {X86_INS_AND});
  set(Or, {X86_INS_OR});
  set(ExclusiveOr, {X86_INS_XOR});
  set(Exchange, {X86_INS_XCHG, X86_INS_XADD});
  set(CompareExchange, {X86_INS_CMPXCHG});
  set(TwoTargets, {X86_INS_MULX});
  set(Push, {X86_INS_PUSH, X86_INS_PUSHF, X86_INS_PUSHFQ});
  set(Pop, {X86_INS_POP, X86_INS_POPF, X86_INS_POPFQ});
  set(Leave, {X86_INS_LEAVE});
  set(Translate, {X86_INS_XLATB});
  set(Jump, {X86_INS_JMP, X86_INS_LJMP});
  set(Branch, {X86_INS_LOOP, X86_INS_LOOPE, X86_INS_LOOPNE, X86_INS_XBEGIN});
  set(Call, {X86_INS_CALL, X86_INS_LCALL});
  set(Return, {X86_INS_RET, X86_INS_RETF, X86_INS_RETFQ, X86_INS_IRET, X86_INS_IRETD, X86_INS_IRETQ,
               X86_INS_SYSRET, X86_INS_SYSEXIT});
  set(Stop, {X86_INS_UD0, X86_INS_UD2, X86_INS_UD2B, X86_INS_INT3});
  // Their first operand is only read.
  set(Nothing, {X86_INS_CMP,     X86_INS_TEST,    X86_INS_BT,     X86_INS_NOP,      X86_INS_DIV,
                X86_INS_IDIV,    X86_INS_MUL,     X86_INS_LTR,    X86_INS_LLDT,     X86_INS_LMSW,
                X86_INS_VERR,    X86_INS_VERW,    X86_INS_OUT,    X86_INS_INVPCID,  X86_INS_INVEPT,
                X86_INS_INVVPID, X86_INS_VMWRITE, X86_INS_INVLPG, X86_INS_WRFSBASE, X86_INS_WRGSBASE});
  for (unsigned id = X86_INS_JAE; id <= X86_INS_JS; ++id) {
    if (id != X86_INS_JMP) rules[id] = Branch;
  }
  for (const unsigned id :
       {X86_INS_CMOVA, X86_INS_CMOVAE, X86_INS_CMOVB, X86_INS_CMOVBE, X86_INS_CMOVE, X86_INS_CMOVG,
        X86_INS_CMOVGE, X86_INS_CMOVL, X86_INS_CMOVLE, X86_INS_CMOVNE, X86_INS_CMOVNO, X86_INS_CMOVNP,
        X86_INS_CMOVNS, X86_INS_CMOVO, X86_INS_CMOVP, X86_INS_CMOVS}) {
    rules[id] = ConditionalMove;
  }
  return rules;
}

constexpr std::array<Rule, X86_INS_ENDING> kRules = MakeRules();

// imul with one operand writes rax and rdx as mul does.
Rule RuleOf(const cs_insn& raw) {
  if (raw.id == X86_INS_IMUL && raw.detail->x86.op_count == 1) return Nothing;
  return raw.id < kRules.size() ? kRules[raw.id] : Value;
}

// The registers that the instruction writes without naming them.
void ClobberImplicit(const cs_detail& detail, Instruction& instruction) {
  for (std::size_t i = 0; i < detail.regs_write_count; ++i) {
    const RegisterNumber reg = GeneralRegister(detail.regs_write[i]).number;
    if (reg != kRsp && reg != instruction.target) Clobber(reg, instruction);
  }
}

}  // namespace

void DescribeX86(const cs_insn& raw, bool kernel, Instruction& instruction) {
  const cs_x86& detail = raw.detail->x86;
  const Operands operands{.raw = raw,
                          .detail = detail,
                          .kernel = kernel,
                          .first = detail.op_count > 0 ? RegisterOf(detail.operands[0]) : X86Register{},
                          .second = detail.op_count > 1 ? RegisterOf(detail.operands[1]) : X86Register{}};
  RuleOf(raw)(operands, instruction);
  ClobberImplicit(*raw.detail, instruction);
  // The kernel is entered with a number in rax and comes back with another one.
  if (raw.id == X86_INS_SYSCALL || raw.id == X86_INS_INT) Clobber(kRax, instruction);
}

}  // namespace linesmith
