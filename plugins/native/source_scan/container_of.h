// SPDX-License-Identifier: GPL-2.0-or-later
// Records found from their first member.
#pragma once

#include "collector.h"

namespace linesmith {

// With offset 0 a null pointer to the member is a null pointer to the record: code may rely on that where it
// asks for null behind container_of(). Functions that return what container_of() gives are followed within
// the unit.
class ContainerOf {
 public:
  explicit ContainerOf(Collector& collector) : collector_(collector) {}

  // The visited node is `offset`.
  void VisitOffset(const clang::OffsetOfExpr& offset);
  // The visited node is `call`; only calls whose result is asked for null are told.
  void VisitCall(const clang::CallExpr& call);

 private:
  struct First {
    int declaration = -1;
    std::string member;
  };

  // Whether null is asked for. Functions that return the visited value are remembered with `firsts`.
  bool Binds(const Ancestors& ancestors, const std::vector<First>& firsts);
  void Add(const std::vector<First>& firsts, bool binds, clang::SourceLocation location);

  Collector& collector_;
  llvm::DenseMap<const clang::FunctionDecl*, std::vector<First>> finders_;
};

}  // namespace linesmith
