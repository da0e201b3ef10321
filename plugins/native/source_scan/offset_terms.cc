// SPDX-License-Identifier: GPL-2.0-or-later
#include "offset_terms.h"

#include "type_names.h"

namespace linesmith {
namespace {

void AddSize(const clang::UnaryExprOrTypeTraitExpr& size, const Collector& collector, Terms& terms) {
  if (size.getKind() != clang::UETT_SizeOf) return;
  const int declaration = collector.index.IndexOf(size.getTypeOfArgument());
  if (declaration >= 0) terms.whole_sizes.push_back(declaration);
  if (size.isArgumentType()) return;
  const auto* member = llvm::dyn_cast<clang::MemberExpr>(size.getArgumentExpr()->IgnoreParens());
  if (member == nullptr) return;
  const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
  if (field == nullptr) return;
  const int holder = collector.index.IndexOf(&HolderOf(*field));
  if (holder >= 0) terms.member_sizes.emplace_back(holder, field->getName().str());
}

void Collect(const clang::Stmt* statement, const Collector& collector, Terms& terms) {
  if (statement == nullptr) return;
  if (const auto* offset = llvm::dyn_cast<clang::OffsetOfExpr>(statement)) {
    for (OffsetTerm& term : TermsOf(*offset, collector)) terms.offsets.push_back(std::move(term));
    return;
  }
  if (const auto* size = llvm::dyn_cast<clang::UnaryExprOrTypeTraitExpr>(statement))
    return AddSize(*size, collector, terms);
  if (const auto* label = llvm::dyn_cast<clang::CaseStmt>(statement)) {
    Collect(label->getLHS(), collector, terms);
    return Collect(label->getRHS(), collector, terms);
  }
  for (const clang::Stmt* child : statement->children()) Collect(child, collector, terms);
}

}  // namespace

std::vector<OffsetTerm> TermsOf(const clang::OffsetOfExpr& offset, const Collector& collector) {
  std::vector<OffsetTerm> terms;
  std::optional<std::uint64_t> total;
  clang::Expr::EvalResult value;
  if (offset.EvaluateAsInt(value, collector.context)) total = value.Val.getInt().getZExtValue() * 8;
  for (unsigned i = 0; i < offset.getNumComponents(); ++i) {
    const clang::OffsetOfNode& node = offset.getComponent(i);
    if (node.getKind() != clang::OffsetOfNode::Field || node.getField()->getName().empty()) continue;
    const int declaration = collector.index.IndexOf(&HolderOf(*node.getField()));
    if (declaration >= 0) terms.push_back({&offset, declaration, node.getField()->getName().str(), total});
  }
  return terms;
}

Terms TermsBelow(const clang::Stmt& statement, const Collector& collector) {
  Terms terms;
  Collect(&statement, collector, terms);
  return terms;
}

}  // namespace linesmith
