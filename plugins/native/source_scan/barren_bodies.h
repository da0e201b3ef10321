// SPDX-License-Identifier: GPL-2.0-or-later
// Functions of headers that have shown nothing of the records asked for.
#pragma once

#include <optional>
#include <utility>

#include "clang/AST/Decl.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/DenseSet.h"

namespace linesmith {

// Units share most of their headers: a body without facts in one unit needs no parsing in the next. Bodies
// that hold preprocessor lines may differ between units and are never taken up, nor are those that a macro
// gives.
class BarrenBodies {
 public:
  void Add(const clang::FunctionDecl& function, const clang::SourceManager& sources);
  bool Contains(const clang::Decl& function, const clang::SourceManager& sources) const;

 private:
  using Key = std::pair<std::uint64_t, unsigned>;  // hash of the file's name, offset

  static std::optional<Key> KeyOf(const clang::Decl& function, const clang::SourceManager& sources);

  llvm::DenseSet<Key> keys_;
};

}  // namespace linesmith
