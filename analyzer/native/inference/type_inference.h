// SPDX-License-Identifier: GPL-2.0-or-later
// What each register and stack slot of a function leads to, forward to a fixed point.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "code/machine_code.h"
#include "program/function_facts.h"
#include "program/program_image.h"
#include "types/type_graph.h"

namespace linesmith {

// Finds variables and functions of the whole program; made before any function is looked at, then only read.
class ProgramKnowledge {
 public:
  virtual ~ProgramKnowledge() = default;

  virtual const ProgramImage& image() const = 0;
  // The variable that covers `address`, in types of the asking worker's `graph`; false when none is known.
  virtual bool VariableAt(std::uint64_t address, TypeGraph& graph, GlobalVariable& found) const = 0;
  // The same for an offset into the per-CPU (or a thread's) block.
  virtual bool PerCpuAt(std::uint64_t offset, TypeGraph& graph, GlobalVariable& found) const = 0;
  // What a call of the function at `address` gives back; kVoid when not known.
  virtual TypeId ResultOf(std::uint64_t address, TypeGraph& graph) const = 0;
  // What a kernel's tasks are (struct task_struct); kVoid when not known.
  virtual TypeId TaskType(TypeGraph&) const { return kVoid; }
  // Whether nothing behind a call of the function at `address` runs.
  virtual bool NeverReturns(std::uint64_t address) const = 0;
};

// What became of an access. The list is closed; the values are those of model.AccessOutcome, in its order.
enum class Outcome : std::uint8_t {
  kVariable,     // resolved: DWARF says which variable the register is
  kPropagation,  // resolved: its type was followed from elsewhere
  kGlobal,       // resolved: a variable with static storage
  kPerCpu,       // resolved: a variable of this CPU, or of a thread
  kStack,        // the function's own frame
  kNoTypes,      // the function has no debug information (assembly, other languages)
  kUntyped,      // the base is a pointer to void or to something only declared
  kScalar,       // the base is a number: an address computed from what is no pointer
  kOutside,      // the offset lies outside the type and no outer type is known
  kHole,         // the offset lies in a hole of the type
  kConflict,     // paths that meet disagree about the base
  kUnknown,      // nothing is known of the base
  kPatched,      // the instruction may be replaced (alternatives, paravirt, static calls)
  kUndecoded,    // bytes that are no instruction known
  kAbsolute,     // a fixed address without a variable
  kIndexed,      // an index that is not known decides which member of the type is touched
};

// One access as the inference leaves it.
struct InferredAccess {
  std::uint64_t address = 0;
  AccessKind kind = AccessKind::kRead;
  std::uint32_t width = 0;
  Outcome outcome = Outcome::kUnknown;
  TypeId type = kVoid;  // outermost known
  std::int64_t offset = 0;
  std::string_view variable;  // of kGlobal and kPerCpu
  // No access: a call hands the address of a member to the function `variable`.
  bool handed = false;
};

class OuterTypes;

// One worker's inference over the functions of one unit.
class TypeInference {
 public:
  TypeInference(InstructionDecoder& decoder, TypeGraph& graph, const ProgramKnowledge& program);
  ~TypeInference();

  // What functions of the unit know of what lies around and behind records.
  OuterTypes& outer();

  // Every access of a function, and every address that it hands on, by ascending address; the first range
  // begins with its entry. `facts` is null for code without debug information.
  std::vector<InferredAccess> Infer(const std::vector<CodeRange>& code, const FunctionFacts* facts);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace linesmith
