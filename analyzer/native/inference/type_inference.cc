// SPDX-License-Identifier: GPL-2.0-or-later

#include "inference/type_inference.h"

#include <algorithm>
#include <unordered_set>

#include "inference/access_outcome.h"
#include "inference/block_states.h"
#include "inference/control_flow.h"
#include "inference/interpreter.h"
#include "inference/place_table.h"

namespace linesmith {
namespace {

// A state for each block of a larger function would take too much memory; its blocks know only what variables
// say.
constexpr std::size_t kMostBlocks = 20'000;
// Code without a function of that size is data, or made up.
constexpr std::size_t kMostInstructions = std::size_t{1} << 22;

// The outcomes that code without debug information can have.
Outcome WithoutTypes(Outcome outcome) {
  switch (outcome) {
    case Outcome::kGlobal:
    case Outcome::kPerCpu:
    case Outcome::kStack:
    case Outcome::kAbsolute:
    case Outcome::kPatched:
    case Outcome::kUndecoded:
      return outcome;
    default:
      return Outcome::kNoTypes;
  }
}

// The inference over one function.
class FunctionRun {
 public:
  FunctionRun(const std::vector<Instruction>& instructions, std::uint64_t entry, const FunctionFacts* facts,
              ValueAlgebra& algebra, const ProgramKnowledge& program, const CallingConvention& convention)
      : instructions_(instructions),
        entry_(entry),
        algebra_(algebra),
        program_(program),
        convention_(convention),
        facts_(facts),
        flow_(instructions, entry, program),
        places_(facts, algebra.parts()),
        interpreter_(instructions, places_, algebra, program, convention) {
    places_.Enter(flow_, instructions);
  }

  std::vector<InferredAccess> Run();

 private:
  void Pass(const LearntClaims* known, LearntClaims* learn);
  void Visit(std::uint32_t block, const MachineState& state);
  void Record(std::uint32_t index);
  void RecordHanded(const Instruction& call);
  void TryClaims(const Address& address, InferredAccess& access);
  void NoteByte(const Value& address, const InferredAccess& access);
  void TakeBackBytes();
  void RecordUndecoded(std::uint32_t index);

  const std::vector<Instruction>& instructions_;
  const std::uint64_t entry_;
  ValueAlgebra& algebra_;
  const ProgramKnowledge& program_;
  const CallingConvention& convention_;
  const FunctionFacts* facts_;
  ControlFlow flow_;
  PlaceTable places_;
  Interpreter interpreter_;
  std::vector<InferredAccess> accesses_;
  // Accesses of single characters by what made the pointer, and pointers to characters that more is read
  // with.
  struct Byte {
    std::size_t access = 0;
    Definition definition = 0;
  };
  std::vector<Byte> bytes_;
  std::unordered_set<Definition> wide_;
};

// Twice when the first pass has learnt something of values that the places before could use.
std::vector<InferredAccess> FunctionRun::Run() {
  algebra_.outer().Enter(facts_);
  LearntClaims learnt(algebra_.parts());
  Pass(nullptr, &learnt);
  if (!learnt.empty()) {
    learnt.Settle(flow_);
    Pass(&learnt, nullptr);
  }
  TakeBackBytes();
  std::ranges::stable_sort(accesses_, {}, &InferredAccess::address);
  return std::move(accesses_);
}

void FunctionRun::Pass(const LearntClaims* known, LearntClaims* learn) {
  accesses_.clear();
  bytes_.clear();
  wide_.clear();
  interpreter_.Use(known, nullptr);
  if (flow_.blocks().size() > kMostBlocks) {
    interpreter_.Use(known, learn);
    const MachineState anywhere = MachineState::Anywhere(convention_);
    for (std::uint32_t block = 0; block < flow_.blocks().size(); ++block) Visit(block, anywhere);
    return;
  }
  BlockStates states(flow_, instructions_, algebra_, convention_);
  states.Solve(interpreter_);
  interpreter_.Use(known, learn);
  for (std::uint32_t block = 0; block < flow_.blocks().size(); ++block) Visit(block, states[block]);
}

void FunctionRun::Visit(std::uint32_t number, const MachineState& state) {
  const BasicBlock& block = flow_.blocks()[number];
  interpreter_.EnterBlock(number, block.first, state);
  for (std::uint32_t i = block.first; i < block.last; ++i) {
    interpreter_.Reach(i);
    Record(i);
    const Flow flow = instructions_[i].flow;
    // A jump to a function is a call whose result is its own.
    const bool leaves = flow == Flow::kJump && instructions_[i].destination != entry_;
    if (flow == Flow::kCall || leaves) RecordHanded(instructions_[i]);
    interpreter_.Execute(i);
  }
}

void FunctionRun::Record(std::uint32_t index) {
  const Instruction& instruction = instructions_[index];
  if (!instruction.decoded) return RecordUndecoded(index);
  const bool patched = instruction.use_count > 0 && program_.image().IsPatched(instruction.address);
  for (std::uint8_t i = 0; i < instruction.use_count; ++i) {
    const MemoryUse& use = instruction.uses[i];
    InferredAccess access;
    access.address = instruction.address;
    access.kind = use.kind;
    access.width = use.width;
    if (patched) {
      access.outcome = Outcome::kPatched;
    } else {
      const Value address = interpreter_.AddressOf(use.address);
      Decide(address, algebra_, access);
      if (access.outcome == Outcome::kOutside) TryClaims(use.address, access);
      NoteByte(address, access);
    }
    if (facts_ == nullptr) access.outcome = WithoutTypes(access.outcome);
    // What it was taken for depends on the unit that was looked at before.
    if (access.outcome == Outcome::kNoTypes) {
      access.type = kVoid;
      access.offset = 0;
    }
    accesses_.push_back(access);
  }
}

// The members of records whose addresses a call hands on. A record's own address says nothing of its first
// member.
void FunctionRun::RecordHanded(const Instruction& call) {
  const ImageSymbol* callee = program_.image().SymbolAt(call.destination);
  if (facts_ == nullptr || callee == nullptr || callee->address != call.destination) return;
  for (const RegisterNumber argument : convention_.arguments) {
    InferredAccess access;
    access.address = call.address;
    access.width = 1;
    Decide(interpreter_.Argument(argument), algebra_, access);
    const bool known = access.outcome <= Outcome::kPerCpu && access.offset > 0;
    if (!known || algebra_.parts().graph()[access.type].kind != TypeKind::kRecord) continue;
    access.variable = callee->name;
    access.handed = true;
    accesses_.push_back(access);
  }
}

void FunctionRun::NoteByte(const Value& address, const InferredAccess& access) {
  const TypeNode& node = algebra_.parts().graph()[access.type];
  const bool computed = address.definition != 0 && address.stride != 0 && address.origin == Origin::kFlow;
  if (!computed || node.kind != TypeKind::kScalar || node.size != 1) return;
  if (access.outcome == Outcome::kOutside) {
    wide_.insert(address.definition);
  } else if (access.outcome == Outcome::kPropagation) {
    bytes_.push_back({accesses_.size(), address.definition});
  }
}

// A `char *` through which numbers are read too leads to a record that the code casts it to: what single
// bytes of it are is not known either.
void FunctionRun::TakeBackBytes() {
  for (const Byte& byte : bytes_) {
    if (wide_.contains(byte.definition)) accesses_[byte.access].outcome = Outcome::kOutside;
  }
}

// Two variables in one register (a pointer to a base and to what is derived from it): the one that reaches as
// far as the access.
void FunctionRun::TryClaims(const Address& address, InferredAccess& access) {
  for (const Claim& claim : interpreter_.ClaimsOn(address.base, access.address)) {
    if (algebra_.parts().IsPlain(claim.type)) continue;
    InferredAccess other = access;
    Decide(interpreter_.AddressWith(address, claim), algebra_, other);
    if (other.outcome > Outcome::kPerCpu) continue;
    access = other;
    return;
  }
}

// Bytes in a row that are no instruction count as one access.
void FunctionRun::RecordUndecoded(std::uint32_t index) {
  const Instruction& instruction = instructions_[index];
  if (index > 0) {
    const Instruction& before = instructions_[index - 1];
    if (!before.decoded && before.address + before.length == instruction.address) return;
  }
  InferredAccess& access = accesses_.emplace_back();
  access.address = instruction.address;
  access.outcome = Outcome::kUndecoded;
}

}  // namespace

struct TypeInference::State {
  State(InstructionDecoder& decoder, TypeGraph& graph, const ProgramKnowledge& program)
      : decoder(decoder), program(program), parts(graph), algebra(parts, program) {}

  InstructionDecoder& decoder;
  const ProgramKnowledge& program;
  TypeParts parts;
  ValueAlgebra algebra;
  std::vector<Instruction> instructions;
};

TypeInference::TypeInference(InstructionDecoder& decoder, TypeGraph& graph, const ProgramKnowledge& program)
    : state_(std::make_unique<State>(decoder, graph, program)) {}

TypeInference::~TypeInference() = default;

OuterTypes& TypeInference::outer() { return state_->algebra.outer(); }

std::vector<InferredAccess> TypeInference::Infer(const std::vector<CodeRange>& code,
                                                 const FunctionFacts* facts) {
  if (code.empty()) return {};
  std::vector<Instruction>& instructions = state_->instructions;
  instructions.clear();
  for (const CodeRange& range : code) {
    if (instructions.size() < kMostInstructions) state_->decoder.Decode(range, instructions);
  }
  const auto by_address = [](const Instruction& one, const Instruction& two) {
    return one.address < two.address;
  };
  if (!std::ranges::is_sorted(instructions, by_address)) std::ranges::stable_sort(instructions, by_address);
  const auto repeated = std::ranges::unique(instructions, {}, &Instruction::address);
  instructions.erase(repeated.begin(), repeated.end());
  if (instructions.empty()) return {};
  return FunctionRun(instructions, code.front().address, facts, state_->algebra, state_->program,
                     state_->decoder.convention())
      .Run();
}

}  // namespace linesmith
