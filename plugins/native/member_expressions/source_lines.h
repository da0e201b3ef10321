// SPDX-License-Identifier: GPL-2.0-or-later
// The source lines at which an expression counts.
#pragma once

#include <string>
#include <vector>

#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/DenseMap.h"
#include "member_expression.h"

namespace linesmith {

class SourceLines {
 public:
  explicit SourceLines(const clang::SourceManager& sources) : sources_(sources) {}

  // Of code written in the file: its line. Of what a macro gives: the line where the macro is used, which is
  // what line tables name, and the one where it is written. `statement` is the full statement around it.
  std::vector<SourceLine> Of(clang::SourceLocation location, clang::SourceRange statement);

 private:
  const std::string& NameOf(clang::FileID file);
  void Add(clang::SourceLocation location, clang::SourceRange statement, Place place,
           std::vector<SourceLine>& lines);

  const clang::SourceManager& sources_;
  llvm::DenseMap<clang::FileID, std::string> names_;
};

}  // namespace linesmith
