// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/interpreter.h"

#include <algorithm>

#include "program/call_effects.h"

namespace linesmith {
namespace {

constexpr std::int64_t kStackGuard = 0x28;

// Up to four values begin at one instruction.
enum class Role : std::uint8_t { kTarget, kOther, kResult, kClobbered };

Definition DefinitionOf(std::uint32_t index, Role role) {
  return (64 + 4 * index + static_cast<Definition>(role)) & 0x7fffffff;
}

}  // namespace

Interpreter::Interpreter(const std::vector<Instruction>& instructions, const PlaceTable& places,
                         ValueAlgebra& algebra, const ProgramKnowledge& program,
                         const CallingConvention& convention)
    : instructions_(instructions),
      places_(places),
      algebra_(algebra),
      program_(program),
      convention_(convention) {}

void Interpreter::Use(const LearntClaims* known, LearntClaims* learn) {
  known_ = known;
  learn_ = learn;
}

void Interpreter::EnterBlock(std::uint32_t block, std::uint32_t first, const MachineState& state) {
  state_ = state;
  block_ = block;
  for (std::vector<std::uint32_t>& places : in_registers_) places.clear();
  in_memory_.clear();
  next_place_ = places_.FirstAfter(instructions_[first].address);
  if (known_ != nullptr) {
    for (Value& value : state_.registers()) {
      if (value.definition == 0 || value.delta != 0) continue;
      if (const Claim* claim = known_->Everywhere(value.definition)) value = algebra_.Enrich(value, *claim);
    }
  }
  for (const std::uint32_t place : places_.At(block)) Activate(place);
}

void Interpreter::Activate(std::uint32_t number) {
  const ClaimedPlace& place = places_.places()[number];
  const bool in_register = place.kind == PlaceKind::kRegister || place.kind == PlaceKind::kRegisterValue;
  (in_register ? in_registers_[place.reg] : in_memory_).push_back(number);
  if (in_register) Apply(place);
}

void Interpreter::DropEnded(std::vector<std::uint32_t>& places, std::uint64_t address) const {
  std::erase_if(places, [&](std::uint32_t place) { return places_.places()[place].high <= address; });
}

void Interpreter::Reach(std::uint32_t index) {
  const std::uint64_t address = instructions_[index].address;
  const std::vector<ClaimedPlace>& places = places_.places();
  for (; next_place_ < places.size() && places[next_place_].low <= address; ++next_place_) {
    if (places[next_place_].high <= address) continue;
    Activate(next_place_);
  }
}

void Interpreter::Apply(const ClaimedPlace& place) {
  Value& value = state_[place.reg];
  if (learn_ != nullptr && value.definition != 0) Learn(value, place.claim);
  algebra_.outer().Learn(value, value.offset - place.claim.offset, place.claim.type);
  value = algebra_.Refine(value, place.claim);
}

void Interpreter::Learn(const Value& value, const Claim& claim) {
  const TypeParts& parts = algebra_.parts();
  const bool typed = parts.IsKnown(claim.type);
  if (typed) learn_->Learn(value.definition, {claim.type, claim.offset - value.delta}, block_);
  if (!typed || (value.IsPointer() && !parts.IsKnown(value.type))) learn_->LearnUntyped(value.definition);
}

// The content of a register with what other places have said of it.
Value Interpreter::Seen(RegisterNumber reg) {
  const Value& value = state_[reg];
  if (known_ == nullptr || value.definition == 0) return value;
  const std::optional<Claim> claim = known_->Within(value.definition, block_);
  return claim ? algebra_.Enrich(value, {claim->type, claim->offset + value.delta}) : value;
}

std::vector<Claim> Interpreter::ClaimsOn(RegisterNumber reg, std::uint64_t address) const {
  std::vector<Claim> claims;
  if (reg >= kMostRegisters) return claims;
  for (const std::uint32_t number : in_registers_[reg]) {
    const ClaimedPlace& place = places_.places()[number];
    if (place.high > address) claims.push_back(place.claim);
  }
  const Value& value = state_[reg];
  if (known_ == nullptr || value.definition == 0) return claims;
  for (const Claim& claim : known_->All(value.definition, block_)) {
    claims.push_back({claim.type, claim.offset + value.delta});
  }
  return claims;
}

Value Interpreter::AddressWith(const Address& address, const Claim& claim) {
  const Value kept = state_[address.base];
  state_[address.base] = Value::Pointer(claim.type, claim.offset, Origin::kVariable);
  const Value result = AddressOf(address);
  state_[address.base] = kept;
  return result;
}

// A variable whose range goes on behind the instruction that wrote its register holds the new value.
void Interpreter::ApplyAgain(RegisterNumber reg, std::uint64_t address) {
  if (in_registers_[reg].empty()) return;
  DropEnded(in_registers_[reg], address);
  for (const std::uint32_t number : in_registers_[reg]) Apply(places_.places()[number]);
}

void Interpreter::Define(RegisterNumber reg, Value value, Definition definition) {
  if (reg >= kMostRegisters) return;
  if (value.origin == Origin::kVariable) value.origin = Origin::kFlow;
  if (value.definition == 0 && (value.IsBlank() || value.IsPointer())) {
    value.definition = definition;
    value.delta = 0;
    const Claim* claim = known_ != nullptr ? known_->Everywhere(definition) : nullptr;
    if (claim != nullptr) value = algebra_.Enrich(value, *claim);
  }
  state_[reg] = value;
  ApplyAgain(reg, behind_);
}

void Interpreter::Clobber(RegisterNumber reg) {
  state_[reg] = Value::Number();
  ApplyAgain(reg, behind_);
}

// The word that compilers for x86-64 check the frame with lies at a fixed distance; the kernel itself has a
// variable there.
bool Interpreter::IsStackGuard(const Address& address) {
  return address.displacement == kStackGuard && !algebra_.PerCpu(kStackGuard).IsPointer();
}

Value Interpreter::PerCpuAddress(const Address& address) {
  const bool thread = address.segment == Segment::kThread;
  if (address.absolute && IsStackGuard(address)) return Value::Frame();
  // Behind the thread pointer lies what the C library keeps of the thread.
  if (thread && address.absolute && address.displacement >= 0) return Value::Constant(address.displacement);
  Value value = address.base != kNoRegister ? state_[address.base] : Value::Constant(0);
  Value index = address.index != kNoRegister ? state_[address.index] : Value{};
  if (address.scale == 1 && value.IsBlank() && index.kind == ValueKind::kConstant) std::swap(value, index);
  if (value.kind == ValueKind::kConstant) {
    value = algebra_.PerCpu(value.offset + address.displacement);
  } else if (value.IsBlank() && (thread || !algebra_.IsSmall(address.displacement))) {
    value = algebra_.Index(algebra_.PerCpu(address.displacement), value);
  } else {
    value = algebra_.Add(value, address.displacement);
  }
  if (address.index != kNoRegister) value = algebra_.Sum(value, index, address.scale);
  if (value.IsPointer() && value.variable == 0) value.origin = Origin::kPerCpu;
  return value;
}

Value Interpreter::TaskAddress() {
  const TypeId task = program_.TaskType(algebra_.parts().graph());
  return task != kVoid ? Value::Pointer(task) : Value::Unknown();
}

Value Interpreter::AddressOf(const Address& address) {
  if (address.segment == Segment::kPerCpu || address.segment == Segment::kThread) {
    return PerCpuAddress(address);
  }
  if (address.segment == Segment::kTask) return TaskAddress();
  const Value fixed = Value::Constant(address.displacement);
  if (address.index == kNoRegister) {
    return address.base == kNoRegister ? fixed : algebra_.Add(Seen(address.base), address.displacement);
  }
  const Value index = Seen(address.index);
  if (address.base == kNoRegister) {
    return address.scale <= 1 ? algebra_.Add(index, address.displacement)
                              : algebra_.Sum(fixed, index, address.scale);
  }
  const Value base = Seen(address.base);
  if (address.base == address.index && base.IsBlank()) {
    return algebra_.Add(algebra_.Scale(base, address.scale + 1), address.displacement);
  }
  if (address.scale == 1 && base.IsBlank() && !index.IsBlank()) {
    return algebra_.Sum(algebra_.Add(index, address.displacement), base, 1);
  }
  return algebra_.Sum(algebra_.Add(base, address.displacement), index, address.scale);
}

// What an instruction computes or loads; the first word of a thread's block holds its own address.
bool Interpreter::IsThreadPointer(const Address& address) const {
  return address.segment == Segment::kThread && address.absolute && address.displacement == 0;
}

Value Interpreter::Computed(const Address& operand) {
  const bool base = operand.segment == Segment::kPerCpu || operand.segment == Segment::kThread;
  return base ? Value::PerCpuBase() : AddressOf(operand);
}

Value Interpreter::Loaded(const MemoryUse& use, std::uint32_t width) {
  if (IsThreadPointer(use.address) && width == convention_.pointer_bytes) return Value::PerCpuBase();
  const Value address = AddressOf(use.address);
  return address.kind == ValueKind::kStack ? LoadedFromStack(address, width) : algebra_.Load(address, width);
}

Value Interpreter::Alternative(const Instruction& select) {
  return state_[select.other < kMostRegisters ? select.other : select.target];
}

Value Interpreter::Addend(const Instruction& sum) {
  if (sum.other < kMostRegisters) return Seen(sum.other);
  return sum.use_count > 0 ? Loaded(sum.uses[0], sum.uses[0].width) : Value::Unknown();
}

void Interpreter::Execute(std::uint32_t index) {
  const Instruction& instruction = instructions_[index];
  behind_ = instruction.address + instruction.length;
  Stores(instruction);
  Effects(index);
  SideEffects(instruction);
  if (instruction.flow == Flow::kCall || instruction.flow == Flow::kIndirectCall) Call(index);
}

void Interpreter::Effects(std::uint32_t index) {
  const Instruction& instruction = instructions_[index];
  const RegisterNumber target = instruction.target;
  const Definition made = DefinitionOf(index, Role::kTarget);
  const auto source = [&]() -> const Value& { return state_[instruction.source]; };
  switch (instruction.effect) {
    case Effect::kNone:
      return;
    case Effect::kMove:
      return Define(target, source(), made);
    case Effect::kConstant:
      return Define(target, Value::Constant(instruction.constant), made);
    case Effect::kAddress:
      return Define(target, Computed(instruction.operand), made);
    case Effect::kLoad: {
      const Value loaded = Loaded(instruction.uses[0], instruction.load_bytes);
      const bool pair = instruction.other < kMostRegisters && instruction.use_count > 1;
      const Value second = pair ? Loaded(instruction.uses[1], instruction.load_bytes) : Value{};
      Define(target, loaded, made);
      if (pair) Define(instruction.other, second, DefinitionOf(index, Role::kOther));
      return;
    }
    case Effect::kAdd:
      return Define(target, algebra_.Add(source(), instruction.constant), made);
    case Effect::kSum:
      return Define(target, algebra_.Sum(Seen(instruction.source), Addend(instruction), 1), made);
    case Effect::kMask:
      return Define(target, algebra_.Mask(Seen(instruction.source), instruction.constant), made);
    case Effect::kScale:
      return Define(target, algebra_.Scale(source(), instruction.constant), made);
    case Effect::kTruncate:
      return Define(target, algebra_.Scale(source(), 1), made);
    case Effect::kSelect:
      return Define(target, algebra_.Join(source(), Alternative(instruction), made), made);
    case Effect::kExchange: {
      const Value given = state_[target];
      Define(target, source(), made);
      return Define(instruction.source, given, DefinitionOf(index, Role::kOther));
    }
    case Effect::kValue:
      return Define(target, Value::Number(), made);
  }
}

void Interpreter::SideEffects(const Instruction& instruction) {
  for (RegisterNumber reg = 0; instruction.clobbered >> reg != 0 && reg < kMostRegisters; ++reg) {
    if ((instruction.clobbered >> reg & 1) != 0) Clobber(reg);
    if (reg == kMostRegisters - 1) break;
  }
  if (instruction.advanced < kMostRegisters) {
    state_[instruction.advanced] = algebra_.Add(state_[instruction.advanced], instruction.advance);
  }
  if (instruction.stack_change != 0) {
    Value& stack = state_[convention_.stack_pointer];
    stack = algebra_.Add(stack, instruction.stack_change);
  }
}

// What a value of `type` that is not in memory is.
Value Interpreter::ValueOfType(TypeId type) {
  const TypeNode& node = algebra_.parts().graph()[type];
  if (node.kind == TypeKind::kPointer) return Value::Pointer(node.target);
  return node.kind == TypeKind::kScalar ? Value::Number() : Value::Unknown();
}

Value Interpreter::ResultThrough(const Value& function) {
  const TypeNode& node = algebra_.parts().graph()[function.type];
  if (!function.IsPointer() || node.kind != TypeKind::kFunction) return Value::Unknown();
  return ValueOfType(node.target);
}

// A thread's variable, or its distance from the thread pointer, when the call is for that.
std::optional<Value> Interpreter::ThreadVariable(const Instruction& call) const {
  const Value& slot = state_[convention_.arguments.front()];
  if (slot.kind != ValueKind::kConstant) return std::nullopt;
  const auto found = program_.image().ThreadSlotAt(static_cast<std::uint64_t>(slot.offset));
  if (!found) return std::nullopt;
  if (found->link == ThreadLink::kDescriptor && call.flow == Flow::kIndirectCall) {
    return Value::Constant(found->bytes);
  }
  const bool asked = found->link == ThreadLink::kModule &&
                     FindsThreadVariables(program_.image(), program_.image().CalleeOf(call));
  return asked ? std::optional(Value::PerCpuBase(found->bytes)) : std::nullopt;
}

Value Interpreter::ResultOfCall(const Instruction& instruction) {
  if (const std::uint64_t callee = program_.image().CalleeOf(instruction); callee != 0) {
    const RegisterNumber through = RegisterOfThunk(program_.image(), callee);
    if (through < kMostRegisters) return ResultThrough(Seen(through));
    return ValueOfType(program_.ResultOf(callee, algebra_.parts().graph()));
  }
  if (instruction.use_count > 0) return ResultThrough(Loaded(instruction.uses[0], convention_.pointer_bytes));
  return instruction.source < kMostRegisters ? ResultThrough(Seen(instruction.source)) : Value::Unknown();
}

void Interpreter::Call(std::uint32_t index) {
  const Instruction& instruction = instructions_[index];
  const std::optional<Value> variable = ThreadVariable(instruction);
  const bool descriptor = variable && variable->kind == ValueKind::kConstant;
  // The function of a descriptor keeps all registers but its result.
  const std::uint32_t changed =
      descriptor ? 1u << convention_.result : program_.image().ChangedByCall(instruction, convention_);
  if (changed == 0) return;
  const Value result = variable ? *variable : ResultOfCall(instruction);
  for (const RegisterNumber argument : convention_.arguments) Expose(state_[argument]);
  state_.ForgetExposed();
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    if ((changed >> reg & 1) != 0) Clobber(reg);
  }
  Define(convention_.result, result, DefinitionOf(index, Role::kResult));
}

}  // namespace linesmith
