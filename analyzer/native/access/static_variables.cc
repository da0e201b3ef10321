// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/static_variables.h"

#include <algorithm>

#include "base/error.h"

namespace linesmith {
namespace {

StaticVariable Described(const SummaryVariable& variable, TypeGraph& graph, const RecordSet& records) {
  StaticVariable found{
      .name = variable.name, .address = variable.address, .of_thread = variable.thread_local_storage};
  if (variable.type.unit == nullptr) return found;
  try {
    const TypeNode& whole = graph[graph.Of(graph.pool().Open(*variable.type.unit), variable.type.reference)];
    const TypeNode& element = whole.kind == TypeKind::kArray ? graph[whole.target] : whole;
    found.bytes = whole.size;
    found.element_bytes = element.size;
    if (element.kind == TypeKind::kRecord) found.layout = records.IdOf(element.identity);
  } catch (const Truncated&) {
    // Damage there is no reason to lose the variable here.
  } catch (const Error&) {
  }
  return found;
}

// Units are opened one behind the other, each once. Of several variables at one address the first with a size
// counts: empty ones share their address with the next one.
void Append(const std::vector<SummaryVariable>& variables, TypeGraph& graph, const RecordSet& records,
            std::vector<StaticVariable>& found) {
  std::vector<std::size_t> order(variables.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const Unit* unit = variables[i].type.unit;
    return unit != nullptr ? unit->index : 0;
  });
  std::vector<StaticVariable> described(variables.size());
  const Unit* open = nullptr;
  for (const std::size_t i : order) {
    if (variables[i].type.unit != open) graph.pool().Trim();
    open = variables[i].type.unit;
    described[i] = Described(variables[i], graph, records);
  }
  for (StaticVariable& variable : described) {
    const bool again = !found.empty() && found.back().address == variable.address &&
                       found.back().of_thread == variable.of_thread;
    if (!again) {
      found.push_back(std::move(variable));
    } else if (found.back().bytes == 0) {
      found.back() = std::move(variable);
    }
  }
}

}  // namespace

std::vector<StaticVariable> StaticVariables(const ProgramIndex& index, TypeGraph& graph,
                                            const RecordSet& records) {
  std::vector<StaticVariable> found;
  Append(index.variables(), graph, records, found);
  Append(index.thread_variables(), graph, records, found);
  return found;
}

}  // namespace linesmith
