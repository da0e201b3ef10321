// SPDX-License-Identifier: GPL-2.0-or-later
// Initialisers that name no members.
#pragma once

#include "collector.h"

namespace linesmith {

class Positional {
 public:
  explicit Positional(Collector& collector) : collector_(collector) {}

  // Lists are visited from the outside in. Lists that fill one array are told once, with their count.
  void Visit(const clang::InitListExpr& semantic);

 private:
  void NoteDesignated(const clang::InitListExpr& written);
  bool IsDesignated(const clang::Expr& value) const;
  // The fields given by position, with the one before each run of them.
  std::vector<std::string> GivenFields(const clang::InitListExpr& list,
                                       const clang::RecordDecl& record) const;
  void Report(const clang::InitListExpr& list, int declaration, std::vector<std::string> members);

  Collector& collector_;
  llvm::DenseSet<unsigned> designated_;  // raw locations at which values with a designator begin
  llvm::DenseMap<std::pair<const void*, int>, std::size_t> tables_;
};

}  // namespace linesmith
