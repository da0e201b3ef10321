// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/program_index.h"

#include <algorithm>
#include <functional>

#include "error.h"

namespace linesmith {
namespace {

constexpr std::string_view kFirstTask = "init_task";

// One variable for each address, the one that the symbol table names there: what a linker has thrown away is
// described at address 0.
void SortByAddress(std::vector<SummaryVariable>& variables, const ProgramImage& image) {
  const auto misnamed = [&](const SummaryVariable& variable) {
    const ImageSymbol* symbol = image.SymbolAt(variable.address);
    return symbol == nullptr || symbol->address != variable.address || symbol->name != variable.name;
  };
  std::ranges::stable_sort(variables, {}, &SummaryVariable::address);
  for (auto first = variables.begin(); first != variables.end();) {
    const auto last = std::find_if(first, variables.end(), [&](const SummaryVariable& variable) {
      return variable.address != first->address;
    });
    if (last - first > 1) std::stable_partition(first, last, std::not_fn(misnamed));
    first = last;
  }
  const auto repeated = std::ranges::unique(variables, {}, &SummaryVariable::address);
  variables.erase(repeated.begin(), repeated.end());
}

const SummaryVariable* LastFrom(const std::vector<SummaryVariable>& variables, std::uint64_t address,
                                std::uint64_t& next) {
  const auto behind = std::ranges::upper_bound(variables, address, {}, &SummaryVariable::address);
  next = behind != variables.end() ? behind->address : ~std::uint64_t{0};
  return behind != variables.begin() ? &*std::prev(behind) : nullptr;
}

}  // namespace

ProgramIndex::ProgramIndex(const ProgramImage& image, const std::vector<UnitSummary>& summaries)
    : image_(image) {
  for (const UnitSummary& summary : summaries) {
    for (const SummaryVariable& variable : summary.variables) {
      (variable.thread_local_storage ? thread_variables_ : variables_).push_back(variable);
      if (variable.name == kFirstTask) task_ = variable.type;
    }
    for (const SummaryFunction& function : summary.functions) {
      results_.try_emplace(function.address, function.result);
    }
  }
  SortByAddress(variables_, image);
  SortByAddress(thread_variables_, image);
}

const SummaryVariable* ProgramIndex::VariableFrom(std::uint64_t address, std::uint64_t& next) const {
  return LastFrom(variables_, address, next);
}

const SummaryVariable* ProgramIndex::ThreadVariableFrom(std::uint64_t offset, std::uint64_t& next) const {
  return LastFrom(thread_variables_, offset, next);
}

const TypeReference* ProgramIndex::ResultOf(std::uint64_t function) const {
  const auto found = results_.find(function);
  return found != results_.end() ? &found->second : nullptr;
}

bool WorkerKnowledge::InPerCpu(std::uint64_t address) const {
  return address >= image().percpu_first() && address < image().percpu_last();
}

bool WorkerKnowledge::VariableAt(std::uint64_t address, TypeGraph& graph, GlobalVariable& found) const {
  if (InPerCpu(address)) return false;
  std::uint64_t next = 0;
  const SummaryVariable* variable = index_.VariableFrom(address, next);
  return Take(variable, next, address, graph, found);
}

bool WorkerKnowledge::PerCpuAt(std::uint64_t offset, TypeGraph& graph, GlobalVariable& found) const {
  std::uint64_t next = 0;
  if (image().percpu_last() != 0) {
    if (!InPerCpu(offset)) return false;
    const SummaryVariable* variable = index_.VariableFrom(offset, next);
    return Take(variable, next, offset, graph, found);
  }
  const std::uint64_t place = image().ThreadOffset(static_cast<std::int64_t>(offset));
  const SummaryVariable* variable = index_.ThreadVariableFrom(place, next);
  if (!Take(variable, next, place, graph, found)) return false;
  found.address += offset - place;
  return true;
}

// An array without a bound reaches up to what its symbol covers, at most to the next variable.
bool WorkerKnowledge::Take(const SummaryVariable* variable, std::uint64_t next, std::uint64_t address,
                           TypeGraph& graph, GlobalVariable& found) const {
  if (variable == nullptr) return false;
  const TypeId type = TypeOf(variable->type, graph);
  std::uint64_t end = variable->address + graph[type].size;
  if (graph[type].size == 0) {
    const ImageSymbol* symbol = image().SymbolAt(variable->address);
    const bool covered = symbol != nullptr && symbol->address == variable->address;
    end = std::min(next, variable->address + (covered ? symbol->size : 1));
  }
  if (address >= end && address != variable->address) return false;
  found = {.name = variable->name,
           .address = variable->address,
           .type = type,
           .thread_local_storage = variable->thread_local_storage};
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
