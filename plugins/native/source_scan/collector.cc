// SPDX-License-Identifier: GPL-2.0-or-later
#include "collector.h"

#include "llvm/ADT/StringExtras.h"

namespace linesmith {
namespace {

std::string KeyOf(const DependencyFact& fact, clang::SourceLocation location,
                  const clang::SourceManager& sources) {
  const unsigned place = sources.getFileLoc(location).getRawEncoding();
  return llvm::join_items(' ', std::to_string(place), std::to_string(static_cast<int>(fact.kind)),
                          std::to_string(fact.declaration), fact.relation,
                          std::to_string(fact.bytes.value_or(0)), std::to_string(fact.binds),
                          llvm::join(fact.members, " "));
}

}  // namespace

std::size_t Collector::Add(DependencyFact fact, clang::SourceLocation location) {
  ++count_;
  const std::size_t number = facts_.dependencies.size();
  const auto [known, added] =
      dependency_numbers_.try_emplace(KeyOf(fact, location, context.getSourceManager()), number);
  if (!added) return known->second;
  fact.place = places.Of(location);
  fact.function = ancestors.FunctionName();
  facts_.dependencies.push_back(std::move(fact));
  return number;
}

void Collector::AddUse(int declaration, const std::string& member, UseKind kind,
                       clang::SourceLocation location) {
  ++count_;
  if (!options_.uses) return;
  const clang::SourceManager& sources = context.getSourceManager();
  const std::pair where(sources.getFileLoc(location).getRawEncoding(),
                        sources.getSpellingLoc(location).getRawEncoding());
  const auto key = [&](UseKind of) { return UseKey(where, {declaration, static_cast<unsigned>(of)}); };
  const auto offset = use_numbers_.find(key(UseKind::kOffset));
  if (offset != use_numbers_.end()) {
    // What was only asked for its type is what is used now.
    facts_.uses[offset->second].kind = kind;
    use_numbers_[key(kind)] = offset->second;
    if (kind != UseKind::kOffset) use_numbers_.erase(offset);
    return;
  }
  for (const UseKind other : {UseKind::kRead, UseKind::kWrite, UseKind::kUpdate, UseKind::kAddress}) {
    const bool covered = kind == other || kind == UseKind::kOffset;
    if (covered && use_numbers_.contains(key(other))) return;
  }
  use_numbers_[key(kind)] = facts_.uses.size();
  facts_.uses.push_back({declaration, member, kind, places.Of(location), ancestors.FunctionName()});
}

}  // namespace linesmith
