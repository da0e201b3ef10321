// SPDX-License-Identifier: GPL-2.0-or-later
#include "assertion.h"

#include "llvm/ADT/STLExtras.h"
#include "offset_terms.h"

namespace linesmith {
namespace {

std::optional<std::uint64_t> ValueOf(const clang::Expr& expression, const clang::ASTContext& context) {
  clang::Expr::EvalResult value;
  if (expression.isValueDependent() || !expression.EvaluateAsInt(value, context)) return std::nullopt;
  return value.Val.getInt().getZExtValue();
}

bool IsEmpty(const Terms& terms) { return terms.offsets.empty() && terms.whole_sizes.empty(); }

const clang::BinaryOperator* ComparisonIn(const clang::Stmt& statement) {
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&statement);
  return binary != nullptr && binary->isComparisonOp() ? binary : nullptr;
}

bool HasComparison(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (ComparisonIn(*statement) != nullptr) return true;
  for (const clang::Stmt* child : statement->children()) {
    if (HasComparison(child)) return true;
  }
  return false;
}

// The comparison as it holds, seen from the side of the record.
struct Relation {
  std::string text;
  std::optional<std::uint64_t> bytes;
};

std::string HoldingOperator(const clang::BinaryOperator& comparison, bool swapped,
                            const clang::ASTContext& context) {
  const std::optional<std::uint64_t> truth = ValueOf(comparison, context);
  if (!truth) return "";
  clang::BinaryOperatorKind kind = comparison.getOpcode();
  if (*truth == 0) kind = clang::BinaryOperator::negateComparisonOp(kind);
  if (swapped) kind = clang::BinaryOperator::reverseComparisonOp(kind);
  return clang::BinaryOperator::getOpcodeStr(kind).str();
}

Relation RelationOf(const clang::BinaryOperator& comparison, const Collector& collector) {
  const bool left = !IsEmpty(TermsBelow(*comparison.getLHS(), collector));
  const bool right = !IsEmpty(TermsBelow(*comparison.getRHS(), collector));
  Relation relation{HoldingOperator(comparison, !left, collector.context), std::nullopt};
  if (left && right) return relation;
  const clang::Expr* record = (left ? comparison.getLHS() : comparison.getRHS())->IgnoreParenCasts();
  const bool plain = llvm::isa<clang::OffsetOfExpr, clang::UnaryExprOrTypeTraitExpr>(record);
  if (plain) relation.bytes = ValueOf(left ? *comparison.getRHS() : *comparison.getLHS(), collector.context);
  return relation;
}

// A limit above the record's size cannot be broken by moving members.
bool CannotFail(const Relation& relation, std::uint64_t record_bytes) {
  const bool upper = relation.text == "<" || relation.text == "<=";
  return upper && relation.bytes && *relation.bytes > record_bytes;
}

// Offsets inside one member, compared with each other, do not depend on where that member is.
bool IsWithinOne(const std::vector<std::string>& members) {
  return members.size() > 1 && llvm::all_equal(members);
}

void ReportOne(int declaration, std::vector<std::string> members, const Relation& relation,
               clang::SourceLocation location, Collector& collector) {
  if (!members.empty() && CannotFail(relation, collector.index.SizeOf(declaration) / 8)) return;
  DependencyFact fact{DependencyKind::kAssertion, declaration,
                      collector.index.InOrder(declaration, std::move(members))};
  fact.relation = relation.text;
  fact.bytes = relation.bytes;
  collector.Add(std::move(fact), location);
}

void Report(const Terms& terms, const Relation& relation, clang::SourceLocation location,
            Collector& collector) {
  llvm::DenseMap<int, std::vector<std::string>> members;
  for (const OffsetTerm& term : terms.offsets) members[term.declaration].push_back(term.member);
  for (const int declaration : terms.whole_sizes) members.try_emplace(declaration);
  for (auto& [declaration, names] : members) {
    if (!IsWithinOne(names)) ReportOne(declaration, std::move(names), relation, location, collector);
  }
}

}  // namespace

void FindAssertions(const clang::Stmt& condition, Collector& collector) {
  const Terms terms = TermsBelow(condition, collector);
  if (IsEmpty(terms)) return;
  const clang::BinaryOperator* comparison = ComparisonIn(condition);
  bool deeper = false;
  for (const clang::Stmt* child : condition.children()) deeper |= HasComparison(child);
  if (deeper) {
    for (const clang::Stmt* child : condition.children()) {
      if (child != nullptr) FindAssertions(*child, collector);
    }
    return;
  }
  const Relation relation = comparison != nullptr ? RelationOf(*comparison, collector) : Relation();
  const clang::SourceLocation place =
      comparison != nullptr ? comparison->getOperatorLoc() : condition.getBeginLoc();
  Report(terms, relation, place, collector);
}

}  // namespace linesmith
