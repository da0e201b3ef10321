// SPDX-License-Identifier: GPL-2.0-or-later
#include "offset_root.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/Basic/Builtins.h"

namespace linesmith {
namespace {

bool IsComparing(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
  if (binary != nullptr && (binary->isComparisonOp() || binary->isLogicalOp())) return true;
  for (const clang::Stmt* child : statement->children()) {
    if (IsComparing(child)) return true;
  }
  return false;
}

// Whether a call of a function that must not be reached follows, as in the kernel's BUILD_BUG_ON().
bool CallsError(const clang::Stmt* statement) {
  if (statement == nullptr) return false;
  if (const auto* call = llvm::dyn_cast<clang::CallExpr>(statement)) {
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee != nullptr && callee->hasAttr<clang::ErrorAttr>()) return true;
  }
  for (const clang::Stmt* child : statement->children()) {
    if (CallsError(child)) return true;
  }
  return false;
}

// Functions whose result says what their first argument says.
bool ReturnsItsArgument(const clang::CallExpr& call) {
  const unsigned builtin = call.getBuiltinCallee();
  return builtin == clang::Builtin::BI__builtin_expect || builtin == clang::Builtin::BI__builtin_constant_p;
}

bool GoesOn(const clang::Stmt& above) {
  if (llvm::isa<clang::ParenExpr, clang::FullExpr, clang::AbstractConditionalOperator, clang::ChooseExpr>(
          above))
    return true;
  if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(&above)) return !cast->getType()->isAnyPointerType();
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&above))
    return !binary->isAssignmentOp() && !binary->isCommaOp() && !binary->getType()->isAnyPointerType();
  if (llvm::isa<clang::UnaryOperator>(above)) return true;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(&above);
  return call != nullptr && ReturnsItsArgument(*call);
}

OffsetPurpose PurposeUnder(const clang::Stmt& above, const clang::Stmt* root) {
  if (llvm::isa<clang::GCCAsmStmt>(above)) return OffsetPurpose::kAssembly;
  if (llvm::isa<clang::CaseStmt>(above)) return OffsetPurpose::kCase;
  if (llvm::isa<clang::CallExpr>(above)) return OffsetPurpose::kArgument;
  // sizeof(char[condition ? 1 : -1])
  if (llvm::isa<clang::UnaryExprOrTypeTraitExpr>(above)) return OffsetPurpose::kAssertion;
  if (const auto* choice = llvm::dyn_cast<clang::IfStmt>(&above))
    return choice->getCond() == root && CallsError(choice->getThen()) ? OffsetPurpose::kAssertion
                                                                      : OffsetPurpose::kValue;
  const auto* expression = llvm::dyn_cast<clang::Expr>(&above);
  const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&above);
  const bool moves = binary != nullptr && expression->getType()->isAnyPointerType() &&
                     (binary->isAdditiveOp() || binary->isCompoundAssignmentOp());
  return moves ? OffsetPurpose::kPointer : OffsetPurpose::kValue;
}

OffsetPurpose PurposeUnder(const clang::Decl& above, const clang::Stmt* root) {
  if (llvm::isa<clang::StaticAssertDecl>(above)) return OffsetPurpose::kAssertion;
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&above);
  if (variable != nullptr && variable->getInit() == root) return OffsetPurpose::kValue;
  // Sizes of arrays, widths of bit-fields, enumerators: a condition there makes them invalid when it fails.
  return IsComparing(root) ? OffsetPurpose::kAssertion : OffsetPurpose::kValue;
}

}  // namespace

OffsetRoot RootOf(const Ancestors& ancestors) {
  std::size_t steps = 0;
  for (;; ++steps) {
    const Ancestor above = ancestors.At(steps + 1);
    if (above.statement == nullptr || !GoesOn(*above.statement)) break;
  }
  OffsetRoot found{OffsetPurpose::kValue, ancestors.At(steps).statement, steps};
  const Ancestor above = ancestors.At(steps + 1);
  if (above.statement != nullptr) found.purpose = PurposeUnder(*above.statement, found.root);
  if (above.declaration != nullptr) found.purpose = PurposeUnder(*above.declaration, found.root);
  if (found.purpose == OffsetPurpose::kCase) {
    found.root = above.statement;
    ++found.steps;
  }
  return found;
}

}  // namespace linesmith
