// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/program_index.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "program/call_effects.h"

namespace linesmith {
namespace {

constexpr std::string_view kFirstTask = "init_task";

// Of one address first the variable that the symbol table names there: what a linker has thrown away is
// described at address 0.
void SortByAddress(std::vector<SummaryVariable>& variables, const ProgramImage& image) {
  const auto named = [&](const SummaryVariable& variable) {
    const ImageSymbol* symbol = image.SymbolAt(variable.address);
    return symbol != nullptr && symbol->address == variable.address && symbol->name == variable.name;
  };
  std::ranges::stable_sort(variables, {}, &SummaryVariable::address);
  for (auto first = variables.begin(); first != variables.end();) {
    const auto last = std::find_if(first, variables.end(), [&](const SummaryVariable& variable) {
      return variable.address != first->address;
    });
    if (last - first > 1) std::stable_partition(first, last, named);
    first = last;
  }
}

VariablesAt LastFrom(const std::vector<SummaryVariable>& variables, std::uint64_t address) {
  const auto behind = std::ranges::upper_bound(variables, address, {}, &SummaryVariable::address);
  const std::uint64_t next = behind != variables.end() ? behind->address : ~std::uint64_t{0};
  if (behind == variables.begin()) return {{}, next};
  const auto first =
      std::ranges::lower_bound(variables, std::prev(behind)->address, {}, &SummaryVariable::address);
  return {{first, behind}, next};
}

}  // namespace

ProgramIndex::ProgramIndex(const ProgramImage& image, const std::vector<UnitSummary>& summaries)
    : image_(image) {
  for (const UnitSummary& summary : summaries) {
    for (const SummaryVariable& variable : summary.variables) {
      (variable.thread_local_storage ? thread_variables_ : variables_).push_back(variable);
      if (variable.name == kFirstTask) task_ = variable.type;
    }
    for (const SummaryFunction& function : summary.functions) AddFunction(function, function.address);
  }
  AddDeclared(summaries);
  SortByAddress(variables_, image);
  SortByAddress(thread_variables_, image);
}

void ProgramIndex::AddFunction(const SummaryFunction& function, std::uint64_t address) {
  results_.try_emplace(address, function.result);
  if (function.never_returns) never_returning_.insert(address);
}

// What other files define (or units without debug information) is known by its declarations.
void ProgramIndex::AddDeclared(const std::vector<UnitSummary>& summaries) {
  std::unordered_set<std::string_view> known;
  for (const SummaryVariable& variable : variables_) known.insert(variable.name);
  for (const UnitSummary& summary : summaries) {
    for (const SummaryFunction& function : summary.declared_functions) {
      const std::uint64_t address = image_.AddressOfSymbol(function.name);
      if (address != 0) AddFunction(function, address);
    }
    for (const SummaryVariable& variable : summary.unplaced_variables) {
      const std::optional<std::uint64_t> offset = image_.ThreadSymbol(variable.name);
      if (!offset) continue;
      thread_variables_.push_back(variable);
      thread_variables_.back().address = *offset;
      thread_variables_.back().thread_local_storage = true;
    }
    for (const SummaryVariable& variable : summary.declared_variables) {
      const std::uint64_t address = image_.AddressOfSymbol(variable.name);
      if (address == 0 || !known.insert(variable.name).second) continue;
      variables_.push_back(variable);
      variables_.back().address = address;
    }
  }
}

VariablesAt ProgramIndex::VariablesFrom(std::uint64_t address) const { return LastFrom(variables_, address); }

VariablesAt ProgramIndex::ThreadVariablesFrom(std::uint64_t offset) const {
  return LastFrom(thread_variables_, offset);
}

const TypeReference* ProgramIndex::ResultOf(std::uint64_t function) const {
  const auto found = results_.find(function);
  return found != results_.end() ? &found->second : nullptr;
}

bool WorkerKnowledge::InPerCpu(std::uint64_t address) const {
  return address >= image().percpu_first() && address < image().percpu_last();
}

bool WorkerKnowledge::VariableAt(std::uint64_t address, TypeGraph& graph, GlobalVariable& found) const {
  return !InPerCpu(address) && Take(index_.VariablesFrom(address), address, graph, found);
}

bool WorkerKnowledge::PerCpuAt(std::uint64_t offset, TypeGraph& graph, GlobalVariable& found) const {
  if (image().is_kernel()) {
    // Modules use the kernel's own per-CPU variables, too.
    const bool foreign = image().At(offset).empty();
    return (InPerCpu(offset) || foreign) && Take(index_.VariablesFrom(offset), offset, graph, found);
  }
  const std::uint64_t place = image().ThreadOffset(static_cast<std::int64_t>(offset));
  const bool foreign = image().SymbolAt(place) != nullptr && image().At(place).empty();
  const VariablesAt variables = foreign ? index_.VariablesFrom(place) : index_.ThreadVariablesFrom(place);
  if (!Take(variables, place, graph, found)) return false;
  found.address += offset - place;
  return true;
}

// The first variable with a size (empty ones share their address with the next one). An array without a bound
// reaches up to what its symbol covers, at most to the next variable.
bool WorkerKnowledge::Take(const VariablesAt& variables, std::uint64_t address, TypeGraph& graph,
                           GlobalVariable& found) const {
  if (variables.here.empty()) return false;
  const auto sized = std::ranges::find_if(variables.here, [&](const SummaryVariable& candidate) {
    return graph[TypeOf(candidate.type, graph)].size != 0;
  });
  const SummaryVariable& variable = sized != variables.here.end() ? *sized : variables.here.front();
  const TypeId type = TypeOf(variable.type, graph);
  std::uint64_t end = variable.address + graph[type].size;
  if (graph[type].size == 0) {
    const ImageSymbol* symbol = image().SymbolAt(variable.address);
    const bool covered = symbol != nullptr && symbol->address == variable.address;
    end = std::min(variables.next, variable.address + (covered ? symbol->size : 1));
  }
  if (address >= end && address != variable.address) return false;
  found = {.name = variable.name,
           .address = variable.address,
           .type = type,
           .thread_local_storage = variable.thread_local_storage};
  return true;
}

TypeId WorkerKnowledge::ResultOf(std::uint64_t address, TypeGraph& graph) const {
  const TypeReference* result = index_.ResultOf(address);
  return result != nullptr ? TypeOf(*result, graph) : kVoid;
}

TypeId WorkerKnowledge::TaskType(TypeGraph& graph) const {
  const TypeReference* task = index_.TaskType();
  return task != nullptr ? TypeOf(*task, graph) : kVoid;
}

bool WorkerKnowledge::NeverReturns(std::uint64_t function) const {
  return index_.NeverReturns(function) || IsNamedAsNeverReturning(image(), function);
}

TypeId WorkerKnowledge::TypeOf(const TypeReference& reference, TypeGraph& graph) const {
  if (reference.unit == nullptr) return kVoid;
  const auto [place, fresh] = types_.try_emplace(&reference, kVoid);
  if (!fresh) return place->second;
  TypeId type = kVoid;
  try {
    type = graph.Of(graph.pool().Open(*reference.unit), reference.reference);
  } catch (const Truncated&) {
    // Damage there is no reason to lose the access here.
  } catch (const Error&) {
  }
  return types_[&reference] = type;
}

}  // namespace linesmith
