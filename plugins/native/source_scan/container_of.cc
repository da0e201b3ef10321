// SPDX-License-Identifier: GPL-2.0-or-later
#include "container_of.h"

#include "null_test.h"
#include "offset_root.h"
#include "offset_terms.h"

namespace linesmith {
namespace {

// Null when no function is around, or one without a body.
const clang::Stmt* BodyAround(const Ancestors& ancestors) {
  const clang::FunctionDecl* function = ancestors.Function();
  return function != nullptr ? function->getBody() : nullptr;
}

}  // namespace

void ContainerOf::VisitOffset(const clang::OffsetOfExpr& offset) {
  const OffsetRoot root = RootOf(collector_.ancestors);
  if (root.purpose != OffsetPurpose::kPointer) return;
  const auto* difference = collector_.ancestors.At(root.steps + 1).As<clang::BinaryOperator>();
  if (difference == nullptr || difference->getOpcode() != clang::BO_Sub) return;
  std::vector<First> firsts;
  for (const OffsetTerm& term : TermsOf(offset, collector_)) {
    if (term.total && *term.total == 0) firsts.push_back({term.declaration, term.member});
  }
  if (firsts.empty()) return;
  Ancestors above = collector_.ancestors;
  for (std::size_t step = 0; step <= root.steps; ++step) above.Leave();
  const bool binds = Binds(above, firsts);
  Add(firsts, binds, offset.getComponent(offset.getNumComponents() - 1).getEndLoc());
}

void ContainerOf::VisitCall(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || finders_.empty()) return;
  const auto found = finders_.find(callee->getCanonicalDecl());
  if (found == finders_.end()) return;
  const std::vector<First> firsts = found->second;
  if (Binds(collector_.ancestors, firsts)) Add(firsts, true, call.getBeginLoc());
}

bool ContainerOf::Binds(const Ancestors& ancestors, const std::vector<First>& firsts) {
  const PointerFate fate = FateOf(ancestors);
  if (fate.guarded) return false;
  if (fate.result != nullptr) finders_[fate.result->getCanonicalDecl()] = firsts;
  const clang::Stmt* body = BodyAround(ancestors);
  return fate.tested || (fate.variable != nullptr && body != nullptr && IsTestedIn(*body, *fate.variable));
}

void ContainerOf::Add(const std::vector<First>& firsts, bool binds, clang::SourceLocation location) {
  for (const First& first : firsts) {
    DependencyFact fact{DependencyKind::kContainerOfFirst, first.declaration, {first.member}};
    fact.binds = binds;
    collector_.Add(std::move(fact), location);
  }
}

}  // namespace linesmith
