// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector.h"

namespace linesmith {

std::size_t Collector::Add(DependencyFact fact, clang::SourceLocation location) {
  fact.place = places.Of(location);
  fact.function = ancestors.FunctionName();
  facts_.dependencies.push_back(std::move(fact));
  return facts_.dependencies.size() - 1;
}

void Collector::AddUse(int declaration, const std::string& member, UseKind kind,
                       clang::SourceLocation location) {
  if (!options_.uses) return;
  facts_.uses.push_back({declaration, member, kind, places.Of(location), ancestors.FunctionName()});
}

}  // namespace linesmith
