// SPDX-License-Identifier: GPL-2.0-or-later
// Variables and functions of the whole program by address, collected from all units before inference.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "inference/type_inference.h"
#include "program/unit_summary.h"

namespace linesmith {

// Variables that begin at one address, and where the next ones begin.
struct VariablesAt {
  std::span<const SummaryVariable> here;
  std::uint64_t next = 0;
};

// Shared by the workers, never changed after it is made.
class ProgramIndex {
 public:
  // `summaries` are those of the units in reading order.
  ProgramIndex(const ProgramImage& image, const std::vector<UnitSummary>& summaries);

  const ProgramImage& image() const { return image_; }
  // By ascending address.
  const std::vector<SummaryVariable>& variables() const { return variables_; }
  const std::vector<SummaryVariable>& thread_variables() const { return thread_variables_; }
  // The last variables that begin at or before `address`.
  VariablesAt VariablesFrom(std::uint64_t address) const;
  VariablesAt ThreadVariablesFrom(std::uint64_t offset) const;
  const TypeReference* ResultOf(std::uint64_t function) const;
  // Whether DWARF says of the function that nothing behind a call of it runs.
  bool NeverReturns(std::uint64_t function) const { return never_returning_.contains(function); }
  // Of the kernel's first task, which every other one is like; null in other programs.
  const TypeReference* TaskType() const { return task_.unit != nullptr ? &task_ : nullptr; }

 private:
  void AddFunction(const SummaryFunction& function, std::uint64_t address);
  void AddDeclared(const std::vector<UnitSummary>& summaries);

  const ProgramImage& image_;
  TypeReference task_;
  std::vector<SummaryVariable> variables_;
  std::vector<SummaryVariable> thread_variables_;
  std::unordered_map<std::uint64_t, TypeReference> results_;
  std::unordered_set<std::uint64_t> never_returning_;
};

// The index as one worker asks it; remembers what types are in the worker's graph.
class WorkerKnowledge : public ProgramKnowledge {
 public:
  explicit WorkerKnowledge(const ProgramIndex& index) : index_(index) {}

  const ProgramImage& image() const override { return index_.image(); }
  bool VariableAt(std::uint64_t address, TypeGraph& graph, GlobalVariable& found) const override;
  bool PerCpuAt(std::uint64_t offset, TypeGraph& graph, GlobalVariable& found) const override;
  TypeId ResultOf(std::uint64_t address, TypeGraph& graph) const override;
  TypeId TaskType(TypeGraph& graph) const override;
  bool NeverReturns(std::uint64_t function) const override;

 private:
  bool InPerCpu(std::uint64_t address) const;
  bool Take(const VariablesAt& variables, std::uint64_t address, TypeGraph& graph,
            GlobalVariable& found) const;
  TypeId TypeOf(const TypeReference& reference, TypeGraph& graph) const;

  const ProgramIndex& index_;
  // By the place of the reference in the index.
  mutable std::unordered_map<const TypeReference*, TypeId> types_;
};

}  // namespace linesmith
