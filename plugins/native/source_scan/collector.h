// SPDX-License-Identifier: GPL-2.0-or-later
// What is known while a unit is walked, and where its facts go.
#pragma once

#include <utility>

#include "ancestors.h"
#include "facts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "places.h"
#include "record_index.h"
#include "scan_options.h"

namespace linesmith {

class Collector {
 public:
  Collector(clang::ASTContext& context, const ScanOptions& options, UnitFacts& facts)
      : context(context),
        places(context.getSourceManager(), context.getLangOpts()),
        index(context, options.records),
        options_(options),
        facts_(facts) {}

  // Completes `fact` by place and function of the visited node and keeps it; returns where it stands among
  // all.
  std::size_t Add(DependencyFact fact, clang::SourceLocation location);
  // Macros hand on what they are given several times: a use of each kind counts once, and one that only asks
  // for size or type not at all beside others.
  void AddUse(int declaration, const std::string& member, UseKind kind, clang::SourceLocation location);
  // How often something was told, also what was known already.
  std::size_t count() const { return count_; }
  DependencyFact& dependency(std::size_t number) { return facts_.dependencies[number]; }

  clang::ASTContext& context;
  Places places;
  RecordIndex index;
  Ancestors ancestors;
  // Expressions whose offsets are told already as part of something larger.
  llvm::DenseSet<const clang::Stmt*> told;

 private:
  // What is written at one place of the file and, within a macro, at one place of it.
  using UseKey = std::pair<std::pair<unsigned, unsigned>, std::pair<int, unsigned>>;

  const ScanOptions& options_;
  UnitFacts& facts_;
  std::size_t count_ = 0;
  llvm::DenseMap<UseKey, std::size_t> use_numbers_;
  llvm::StringMap<std::size_t> dependency_numbers_;
};

}  // namespace linesmith
