// SPDX-License-Identifier: GPL-2.0-or-later
#include "access_chain.h"

#include <algorithm>

#include "type_names.h"

namespace linesmith {
namespace {

// Casts between pointers change the type of what they lead to, not the place.
const clang::Expr* BehindPointerCast(const clang::Expr& expression) {
  const auto* cast = llvm::dyn_cast<clang::CastExpr>(&expression);
  if (cast == nullptr || !expression.getType()->isPointerType()) return nullptr;
  const clang::Expr* behind = cast->getSubExpr();
  return behind->getType()->isPointerType() && cast->getCastKind() != clang::CK_LValueToRValue ? behind
                                                                                               : nullptr;
}

const clang::Expr* DecayedArray(const clang::Expr& expression) {
  const auto* cast = llvm::dyn_cast<clang::CastExpr>(&expression);
  return cast != nullptr && cast->getCastKind() == clang::CK_ArrayToPointerDecay ? cast->getSubExpr()
                                                                                 : nullptr;
}

class Follower {
 public:
  explicit Follower(const clang::ASTContext& context) : context_(context) {}

  void Follow(const clang::Expr* place) {
    while (place != nullptr) place = Next(Chosen(*place));
    std::reverse(chain_.expression.steps.begin(), chain_.expression.steps.end());
  }

  // The object that `pointer` leads to if that is named, else null: then the pointer is an expression of its
  // own.
  const clang::Expr* Behind(const clang::Expr* pointer) {
    for (;;) {
      pointer = &Chosen(*pointer);
      if (const clang::Expr* array = DecayedArray(*pointer)) return array;
      const auto* taken = llvm::dyn_cast<clang::UnaryOperator>(pointer);
      if (taken != nullptr && taken->getOpcode() == clang::UO_AddrOf) return taken->getSubExpr();
      const clang::Expr* inner = BehindPointerCast(*pointer);
      if (inner == nullptr) inner = BehindSum(*pointer);
      if (inner == nullptr) break;
      pointer = inner;
    }
    Leave(*pointer);
    chain_.reaches_memory = true;
    return nullptr;
  }

  AccessChain Finish(clang::QualType type) {
    chain_.expression.type = TypeName(type);
    if (!type->isIncompleteType() && !type->isDependentType() && !type->isFunctionType()) {
      chain_.expression.bytes = context_.getTypeSizeInChars(type).getQuantity();
    }
    return std::move(chain_);
  }

 private:
  void Leave(const clang::Expr& expression) { chain_.outside.push_back(&expression); }

  const clang::Expr* BehindSum(const clang::Expr& expression) {
    const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(&expression);
    if (sum == nullptr || !sum->isAdditiveOp() || !sum->getType()->isPointerType()) return nullptr;
    const bool left = sum->getLHS()->getType()->isPointerType();
    Leave(left ? *sum->getRHS() : *sum->getLHS());
    return left ? sum->getLHS() : sum->getRHS();
  }

  // One step back; null when the object is reached.
  const clang::Expr* Next(const clang::Expr& place) {
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(&place)) return BehindMember(*member);
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(&place)) {
      Leave(*element->getIdx());
      chain_.reaches_memory = true;
      return Behind(element->getBase());
    }
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&place)) {
      if (unary->getOpcode() == clang::UO_Deref) return Behind(unary->getSubExpr());
      // GCC's __real__ and __imag__ are halves of the place.
      if (unary->getOpcode() == clang::UO_Real || unary->getOpcode() == clang::UO_Imag)
        return unary->getSubExpr();
    }
    if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(&place)) {
      NoteVariable(*named);
      return nullptr;
    }
    const auto* cast = llvm::dyn_cast<clang::CastExpr>(&place);
    if (cast != nullptr && cast->isGLValue() && cast->getSubExpr()->isGLValue()) return cast->getSubExpr();
    Leave(place);
    return nullptr;
  }

  const clang::Expr* BehindMember(const clang::MemberExpr& member) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member.getMemberDecl());
    if (field == nullptr) {
      // Static members and methods of C++.
      Leave(*member.getBase());
      return nullptr;
    }
    chain_.reaches_memory = true;
    if (!field->isAnonymousStructOrUnion()) {
      chain_.expression.steps.push_back({RecordName(HolderOf(*field)), field->getName().str()});
    }
    return member.isArrow() ? Behind(member.getBase()) : member.getBase();
  }

  void NoteVariable(const clang::DeclRefExpr& named) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(named.getDecl());
    if (variable == nullptr || !variable->hasGlobalStorage()) return;
    chain_.expression.variable = variable->getName().str();
    chain_.reaches_memory = true;
  }

  const clang::ASTContext& context_;
  AccessChain chain_;
};

}  // namespace

const clang::Expr& Chosen(const clang::Expr& expression) {
  const clang::Expr* chosen = expression.IgnoreParens();
  while (const auto* full = llvm::dyn_cast<clang::FullExpr>(chosen))
    chosen = full->getSubExpr()->IgnoreParens();
  return *chosen;
}

bool IsPlace(const clang::Expr& expression) {
  if (llvm::isa<clang::MemberExpr, clang::ArraySubscriptExpr>(expression)) return true;
  // Functions are named too; builtin ones have a type without a size.
  if (const auto* named = llvm::dyn_cast<clang::DeclRefExpr>(&expression))
    return llvm::isa<clang::VarDecl>(named->getDecl());
  const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&expression);
  return unary != nullptr && (unary->getOpcode() == clang::UO_Deref || unary->getOpcode() == clang::UO_Real ||
                              unary->getOpcode() == clang::UO_Imag);
}

AccessChain ChainOf(const clang::Expr& place, const clang::ASTContext& context) {
  Follower follower(context);
  follower.Follow(&place);
  return follower.Finish(place.getType());
}

AccessChain ChainBehind(const clang::Expr& pointer, const clang::ASTContext& context) {
  Follower follower(context);
  // A cast to void * hides the type that the argument had.
  const clang::Expr* typed = pointer.IgnoreParenCasts();
  if (!typed->getType()->isPointerType() && !typed->getType()->isArrayType()) typed = &pointer;
  const clang::Expr* object = typed->getType()->isArrayType() ? typed : follower.Behind(typed);
  follower.Follow(object);
  const clang::QualType type = typed->getType();
  return follower.Finish(type->isArrayType() ? type : type->getPointeeType());
}

}  // namespace linesmith
