// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/interpreter.h"

#include <algorithm>

#include "access/called_function.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kWord = 8;

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
  for (std::vector<std::uint32_t>& places : in_registers_) places.clear();
  in_memory_.clear();
  next_place_ = places_.FirstAfter(instructions_[first].address);
  if (known_ != nullptr) {
    for (Value& value : state_.registers()) {
      if (value.definition == 0 || value.delta != 0) continue;
      if (const Claim* claim = known_->Of(value.definition)) value = algebra_.Enrich(value, *claim);
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
  if (learn_ != nullptr && value.definition != 0 && algebra_.parts().IsKnown(place.claim.type)) {
    learn_->Learn(value.definition, {place.claim.type, place.claim.offset - value.delta});
  }
  value = algebra_.Refine(value, place.claim);
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
    const Claim* claim = known_ != nullptr ? known_->Of(definition) : nullptr;
    if (claim != nullptr) value = algebra_.Enrich(value, *claim);
  }
  state_[reg] = value;
  ApplyAgain(reg, behind_);
}

void Interpreter::Clobber(RegisterNumber reg) {
  state_[reg] = Value::Number();
  ApplyAgain(reg, behind_);
}

Value Interpreter::PerCpuAddress(const Address& address) {
  const bool thread = address.segment == Segment::kThread;
  // Behind the thread pointer lies what the C library keeps of the thread.
  if (thread && address.absolute && address.displacement >= 0) return Value::Constant(address.displacement);
  Value value = address.base != kNoRegister ? state_[address.base] : Value::Constant(0);
  Value index = address.index != kNoRegister ? state_[address.index] : Value{};
  if (address.scale == 1 && value.IsBlank() && index.kind == ValueKind::kConstant) std::swap(value, index);
  if (value.kind == ValueKind::kConstant) {
    value = algebra_.PerCpu(value.offset + address.displacement);
  } else if (value.IsBlank() && (thread || !algebra_.IsSmall(address.displacement))) {
    value = algebra_.Index(algebra_.PerCpu(address.displacement), 1);
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
    return address.base == kNoRegister ? fixed : algebra_.Add(state_[address.base], address.displacement);
  }
  const Value& index = state_[address.index];
  if (address.base == kNoRegister) {
    return address.scale <= 1 ? algebra_.Add(index, address.displacement)
                              : algebra_.Sum(fixed, index, address.scale);
  }
  const Value& base = state_[address.base];
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
  if (IsThreadPointer(use.address) && width == kWord) return Value::PerCpuBase();
  const Value address = AddressOf(use.address);
  return address.kind == ValueKind::kStack ? LoadedFromStack(address, width) : algebra_.Load(address, width);
}

Value Interpreter::Alternative(const Instruction& select) {
  return state_[select.other < kMostRegisters ? select.other : select.target];
}

Value Interpreter::Addend(const Instruction& sum) {
  if (sum.other < kMostRegisters) return state_[sum.other];
  return sum.use_count > 0 ? Loaded(sum.uses[0], sum.uses[0].width) : Value::Unknown();
}

// The word that was stored there, or what the variable is that lies there.
Value Interpreter::LoadedFromStack(const Value& address, std::uint32_t width) {
  if (width != kWord) return Value::Number();
  if (address.stride != 0) return Value::Unknown();
  Value value = state_.SlotAt(address.offset);
  if (value.kind == ValueKind::kUnset) value = Value::Unknown();
  DropEnded(in_memory_, behind_ - 1);
  for (const std::uint32_t number : in_memory_) {
    const ClaimedPlace& place = places_.places()[number];
    const std::optional<std::int64_t> start = StartOf(place);
    if (!start) continue;
    const Claim* claim = &place.claim;
    Claim member;
    if (place.object != kVoid) {
      const Content content = algebra_.parts().ContentAt(place.object, address.offset - *start, width);
      if (content.kind != Content::Kind::kPointer) continue;
      member.type = content.target;
      claim = &member;
    } else if (*start != address.offset) {
      continue;
    }
    value = algebra_.Refine(value, *claim);
  }
  return value;
}

// How far the variable reaches that begins at a place of the frame.
std::int64_t Interpreter::ObjectBytes(std::int64_t offset) {
  std::int64_t bytes = kWord;
  for (const std::uint32_t number : in_memory_) {
    const ClaimedPlace& place = places_.places()[number];
    if (place.object == kVoid || StartOf(place) != offset) continue;
    bytes = std::max(bytes, static_cast<std::int64_t>(algebra_.parts().graph()[place.object].size));
  }
  return bytes;
}

// Where in the frame a place is; nothing when it is elsewhere.
std::optional<std::int64_t> Interpreter::StartOf(const ClaimedPlace& place) const {
  if (place.kind == PlaceKind::kFrame) return place.offset;
  const Value& base = state_[place.reg];
  if (base.kind != ValueKind::kStack || base.stride != 0) return std::nullopt;
  return base.offset + place.offset;
}

void Interpreter::Stores(const Instruction& instruction) {
  for (std::uint8_t i = 0; i < instruction.use_count; ++i) {
    const MemoryUse& use = instruction.uses[i];
    if (use.kind == AccessKind::kRead || use.address.segment != Segment::kNone) continue;
    const Value address = AddressOf(use.address);
    if (address.kind != ValueKind::kStack || address.stride != 0) continue;
    const RegisterNumber stored = i == 0 ? instruction.source : instruction.other;
    const bool whole = use.kind == AccessKind::kWrite && use.width == kWord;
    if (!whole) {
      state_.EraseSlots(address.offset, std::max<std::int64_t>(use.width, 1));
    } else if (instruction.effect == Effect::kNone && stored < kMostRegisters) {
      state_.SetSlot(address.offset, state_[stored]);
    } else {
      state_.SetSlot(address.offset, Value::Number());
    }
  }
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
      return Define(target, algebra_.Sum(source(), Addend(instruction), 1), made);
    case Effect::kMask:
      return Define(target, algebra_.Mask(source(), instruction.constant), made);
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
    if (through < kMostRegisters) return ResultThrough(state_[through]);
    return ValueOfType(program_.ResultOf(callee, algebra_.parts().graph()));
  }
  if (instruction.use_count > 0) return ResultThrough(Loaded(instruction.uses[0], kWord));
  return instruction.source < kMostRegisters ? ResultThrough(state_[instruction.source]) : Value::Unknown();
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
  for (const RegisterNumber argument : convention_.arguments) {
    // The callee may write to what it is given the address of.
    const Value& given = state_[argument];
    if (given.kind == ValueKind::kStack && given.stride == 0) {
      state_.EraseSlots(given.offset, ObjectBytes(given.offset));
    }
  }
  for (RegisterNumber reg = 0; reg < kMostRegisters; ++reg) {
    if ((changed >> reg & 1) != 0) Clobber(reg);
  }
  Define(convention_.result, result, DefinitionOf(index, Role::kResult));
}

}  // namespace linesmith
