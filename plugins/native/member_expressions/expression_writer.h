// SPDX-License-Identifier: GPL-2.0-or-later
// Expressions as JSON, one a line.
#pragma once

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include "member_expression.h"

namespace linesmith {

// Writes each distinct expression of a line once, however many translation units include the header it is in.
class ExpressionWriter {
 public:
  explicit ExpressionWriter(llvm::raw_ostream& output) : output_(output) {}

  void Write(const SourceLine& line, const MemberExpression& expression);
  // `errors` that the parser met in `source`; `fatal` tells that it gave up before the end.
  void FinishSource(llvm::StringRef source, unsigned errors, bool fatal);

 private:
  llvm::raw_ostream& output_;
  llvm::DenseSet<std::uint64_t> written_;  // hashes of lines
};

}  // namespace linesmith
