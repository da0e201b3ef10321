// SPDX-License-Identifier: GPL-2.0-or-later
#include "null_test.h"

#include "clang/AST/ExprCXX.h"
#include "clang/Basic/Builtins.h"

namespace linesmith {
namespace {

bool IsNull(const clang::Expr& expression) {
  const clang::Expr* plain = expression.IgnoreParenCasts();
  const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(plain);
  return llvm::isa<clang::GNUNullExpr, clang::CXXNullPtrLiteralExpr>(plain) ||
         (literal != nullptr && literal->getValue() == 0);
}

bool AsksForError(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return false;
  return callee->getName() == "IS_ERR" || callee->getName() == "IS_ERR_OR_NULL";
}

bool HandsOn(const clang::CallExpr& call) {
  return call.getBuiltinCallee() == clang::Builtin::BI__builtin_expect;
}

// Whether `above` decides by the value of its child `below`.
bool Tests(const clang::Stmt& above, const clang::Stmt* below) {
  if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&above))
    return unary->getOpcode() == clang::UO_LNot;
  if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&above)) {
    if (binary->isLogicalOp()) return true;
    return binary->isEqualityOp() && (IsNull(*binary->getLHS()) || IsNull(*binary->getRHS()));
  }
  if (const auto* choice = llvm::dyn_cast<clang::AbstractConditionalOperator>(&above))
    return choice->getCond() == below;
  if (const auto* branch = llvm::dyn_cast<clang::IfStmt>(&above)) return branch->getCond() == below;
  if (const auto* loop = llvm::dyn_cast<clang::WhileStmt>(&above)) return loop->getCond() == below;
  if (const auto* loop = llvm::dyn_cast<clang::DoStmt>(&above)) return loop->getCond() == below;
  if (const auto* loop = llvm::dyn_cast<clang::ForStmt>(&above)) return loop->getCond() == below;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(&above);
  return call != nullptr && AsksForError(*call);
}

// Whether the value of `above` is that of its child `below`.
bool PassesOn(const clang::Stmt& above, const clang::Stmt* below) {
  if (llvm::isa<clang::ParenExpr, clang::CastExpr, clang::FullExpr, clang::StmtExpr>(above)) return true;
  if (const auto* block = llvm::dyn_cast<clang::CompoundStmt>(&above)) return block->body_back() == below;
  if (const auto* choice = llvm::dyn_cast<clang::AbstractConditionalOperator>(&above))
    return choice->getCond() != below;
  if (const auto* comma = llvm::dyn_cast<clang::BinaryOperator>(&above))
    return comma->isCommaOp() && comma->getRHS() == below;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(&above);
  return call != nullptr && HandsOn(*call);
}

const clang::VarDecl* VariableIn(const clang::Expr& expression) {
  const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(expression.IgnoreParenCasts());
  return named != nullptr ? llvm::dyn_cast<clang::VarDecl>(named->getDecl()) : nullptr;
}

void EndAt(const Ancestor& above, const clang::Stmt* below, const Ancestors& ancestors, PointerFate& fate) {
  if (const auto* variable = above.As<clang::VarDecl>()) fate.variable = variable;
  if (above.statement == nullptr) return;
  if (llvm::isa<clang::ReturnStmt>(above.statement)) fate.result = ancestors.Function();
  fate.tested = Tests(*above.statement, below);
  const auto* assignment = llvm::dyn_cast<clang::BinaryOperator>(above.statement);
  if (assignment != nullptr && assignment->getOpcode() == clang::BO_Assign && assignment->getRHS() == below)
    fate.variable = VariableIn(*assignment->getLHS());
}

// The variable `below` alone, or what hands its value on.
bool IsValueOf(const clang::Stmt* expression, const clang::VarDecl& variable) {
  const auto* value = llvm::dyn_cast_or_null<clang::Expr>(expression);
  if (value == nullptr) return false;
  if (VariableIn(*value) == &variable) return true;
  const auto* call = llvm::dyn_cast<clang::CallExpr>(value->IgnoreParenCasts());
  return call != nullptr && HandsOn(*call) && IsValueOf(call->getArg(0), variable);
}

}  // namespace

PointerFate FateOf(const Ancestors& ancestors) {
  PointerFate fate;
  for (std::size_t steps = 0;; ++steps) {
    const clang::Stmt* below = ancestors.At(steps).statement;
    const Ancestor above = ancestors.At(steps + 1);
    if (above.statement == nullptr || Tests(*above.statement, below) || !PassesOn(*above.statement, below)) {
      EndAt(above, below, ancestors, fate);
      return fate;
    }
    fate.guarded |= llvm::isa<clang::AbstractConditionalOperator>(above.statement);
  }
}

bool IsTestedIn(const clang::Stmt& body, const clang::VarDecl& variable) {
  for (const clang::Stmt* child : body.children()) {
    if (child == nullptr) continue;
    if ((IsValueOf(child, variable) && Tests(body, child)) || IsTestedIn(*child, variable)) return true;
  }
  return false;
}

}  // namespace linesmith
