// SPDX-License-Identifier: GPL-2.0-or-later
#include "expression_walk.h"

#include <utility>

#include "access_chain.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/StmtCXX.h"
#include "source_lines.h"
#include "type_names.h"

namespace linesmith {
namespace {

bool IsRecordOrArray(clang::QualType type) { return type->isRecordType() || type->isArrayType(); }

// Functions that touch all of what an argument points to, under the names a C library or a kernel gives them.
bool TouchesArguments(const clang::CallExpr& call) {
  const clang::FunctionDecl* callee = call.getDirectCallee();
  if (callee == nullptr || callee->getIdentifier() == nullptr) return false;
  const llvm::StringRef name = callee->getName();
  return callee->getBuiltinID() != 0 || name.contains("memcpy") || name.contains("memset") ||
         name.contains("memmove") || name.contains("memcmp");
}

class BodyWalker {
 public:
  BodyWalker(clang::ASTContext& context, SourceLines& lines, const ExpressionSink& sink)
      : context_(context), lines_(lines), sink_(sink) {}

  // A statement: expressions directly under it are full statements of their own.
  void Walk(const clang::Stmt* statement) {
    if (statement == nullptr) return;
    if (const auto* expression = llvm::dyn_cast<clang::Expr>(statement)) {
      WalkFull(*expression, statement->getSourceRange());
    } else if (const auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
      for (const clang::Decl* declared : declaration->decls())
        WalkVariable(*declared, statement->getSourceRange());
    } else if (const auto* assembly = llvm::dyn_cast<clang::GCCAsmStmt>(statement)) {
      WalkAssembly(*assembly);
    } else if (llvm::isa<clang::ReturnStmt>(statement)) {
      for (const clang::Stmt* child : statement->children()) {
        if (child != nullptr) WalkFull(*llvm::cast<clang::Expr>(child), statement->getSourceRange());
      }
    } else {
      for (const clang::Stmt* child : statement->children()) Walk(child);
    }
  }

 private:
  void WalkFull(const clang::Expr& expression, clang::SourceRange statement) {
    const clang::SourceRange outer = std::exchange(statement_, statement);
    Visit(expression, Use::kRead);
    statement_ = outer;
  }

  void WalkVariable(const clang::Decl& declared, clang::SourceRange statement) {
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declared);
    // Initial values of static variables are no code.
    if (variable == nullptr || !variable->hasInit() || variable->hasGlobalStorage()) return;
    const clang::SourceRange outer = std::exchange(statement_, statement);
    if (IsRecordOrArray(variable->getType()))
      ReportWhole(variable->getType(), variable->getLocation(), Use::kWrite);
    Visit(*variable->getInit(), Use::kRead);
    statement_ = outer;
  }

  void WalkAssembly(const clang::GCCAsmStmt& assembly) {
    const clang::SourceRange outer = std::exchange(statement_, assembly.getSourceRange());
    for (unsigned i = 0; i < assembly.getNumOutputs(); ++i) {
      Visit(*assembly.getOutputExpr(i), assembly.isOutputPlusConstraint(i) ? Use::kUpdate : Use::kWrite);
    }
    for (unsigned i = 0; i < assembly.getNumInputs(); ++i) Visit(*assembly.getInputExpr(i), Use::kRead);
    statement_ = outer;
  }

  // `use` is what becomes of the expression's place, if it is one.
  void Visit(const clang::Expr& any, Use use) {
    const clang::Expr& expression = Chosen(any);
    if (IsPlace(expression)) return VisitPlace(expression, use);
    if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(&expression)) return VisitCast(*cast, use);
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&expression)) return VisitUnary(*unary);
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&expression)) return VisitBinary(*binary);
    if (const auto* call = llvm::dyn_cast<clang::CallExpr>(&expression)) return VisitCall(*call);
    if (const auto* list = llvm::dyn_cast<clang::InitListExpr>(&expression)) return VisitInitializer(*list);
    if (const auto* offset = llvm::dyn_cast<clang::OffsetOfExpr>(&expression)) return VisitOffset(*offset);
    if (const auto* inner = llvm::dyn_cast<clang::StmtExpr>(&expression)) return Walk(inner->getSubStmt());
    if (const auto* choice = llvm::dyn_cast<clang::ConditionalOperator>(&expression)) {
      Visit(*choice->getCond(), Use::kRead);
      Visit(*choice->getTrueExpr(), use);
      return Visit(*choice->getFalseExpr(), use);
    }
    // What sizeof, _Alignof and typeof name is not evaluated.
    if (llvm::isa<clang::UnaryExprOrTypeTraitExpr>(expression)) return;
    VisitChildren(expression);
  }

  void VisitChildren(const clang::Expr& expression) {
    for (const clang::Stmt* child : expression.children()) {
      const auto* inner = llvm::dyn_cast_or_null<clang::Expr>(child);
      if (inner != nullptr) {
        Visit(*inner, Use::kRead);
      } else if (child != nullptr) {
        Walk(child);
      }
    }
  }

  void VisitPlace(const clang::Expr& place, Use use) {
    AccessChain chain = ChainOf(place, context_);
    chain.expression.use = use;
    // The address of an array says nothing of what is done to its elements.
    chain.expression.whole = IsRecordOrArray(place.getType()) && use != Use::kAddress;
    if (chain.reaches_memory) Report(PlaceOf(place), chain.expression);
    for (const clang::Expr* outside : chain.outside) Visit(*outside, Use::kRead);
  }

  // Where GCC puts the access: at the operator of a member, else where the expression begins.
  static clang::SourceLocation PlaceOf(const clang::Expr& place) {
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(&place)) {
      if (member->getOperatorLoc().isValid()) return member->getOperatorLoc();
      return member->getMemberLoc();
    }
    return place.getExprLoc();
  }

  void VisitCast(const clang::CastExpr& cast, Use use) {
    switch (cast.getCastKind()) {
      case clang::CK_LValueToRValue:
      case clang::CK_LValueToRValueBitCast:
        return Visit(*cast.getSubExpr(), Use::kRead);
      case clang::CK_ArrayToPointerDecay:
        return Visit(*cast.getSubExpr(), Use::kAddress);
      default:
        return Visit(*cast.getSubExpr(), use);
    }
  }

  void VisitUnary(const clang::UnaryOperator& unary) {
    const bool changes = unary.isIncrementDecrementOp();
    const bool taken = unary.getOpcode() == clang::UO_AddrOf;
    Visit(*unary.getSubExpr(), changes ? Use::kUpdate : taken ? Use::kAddress : Use::kRead);
  }

  void VisitBinary(const clang::BinaryOperator& binary) {
    const bool changes = binary.isAssignmentOp();
    Visit(*binary.getLHS(), !changes                          ? Use::kRead
                            : binary.isCompoundAssignmentOp() ? Use::kUpdate
                                                              : Use::kWrite);
    Visit(*binary.getRHS(), Use::kRead);
  }

  void VisitCall(const clang::CallExpr& call) {
    VisitChildren(call);
    if (!TouchesArguments(call)) return;
    for (const clang::Expr* argument : call.arguments()) {
      if (argument->getType()->isPointerType()) ReportPointee(*argument);
    }
  }

  // The pointers on the way are reported by the visit of the argument itself.
  void ReportPointee(const clang::Expr& argument) {
    AccessChain chain = ChainBehind(argument, context_);
    chain.expression.use = Use::kUpdate;
    chain.expression.whole = true;
    if (chain.reaches_memory) Report(PlaceOf(Chosen(*argument.IgnoreParenCasts())), chain.expression);
  }

  void VisitInitializer(const clang::InitListExpr& any) {
    const clang::InitListExpr* semantic = any.isSemanticForm() ? &any : any.getSemanticForm();
    const clang::InitListExpr& list = semantic != nullptr ? *semantic : any;
    if (IsRecordOrArray(list.getType())) ReportWhole(list.getType(), list.getBeginLoc(), Use::kWrite);
    const auto* record = list.getType()->getAsRecordDecl();
    unsigned position = 0;
    if (record != nullptr && record->isUnion()) {
      if (list.getInitializedFieldInUnion() != nullptr && list.getNumInits() == 1) {
        InitializeField(*list.getInitializedFieldInUnion(), *list.getInit(0));
      }
      return;
    }
    if (record == nullptr) return VisitChildren(list);
    for (const clang::FieldDecl* field : record->fields()) {
      if (field->isUnnamedBitField()) continue;
      if (position >= list.getNumInits()) return;
      InitializeField(*field, *list.getInit(position++));
    }
  }

  void InitializeField(const clang::FieldDecl& field, const clang::Expr& value) {
    // Members that the source leaves out are zeroed with the whole.
    if (llvm::isa<clang::ImplicitValueInitExpr>(value)) return;
    if (!field.isAnonymousStructOrUnion()) {
      MemberExpression expression;
      expression.steps = {{RecordName(HolderOf(field)), field.getName().str()}};
      expression.type = TypeName(field.getType());
      expression.use = Use::kWrite;
      expression.whole = IsRecordOrArray(field.getType());
      Report(value.getBeginLoc(), expression);
    }
    Visit(value, Use::kRead);
  }

  void VisitOffset(const clang::OffsetOfExpr& offset) {
    MemberExpression expression;
    for (unsigned i = 0; i < offset.getNumComponents(); ++i) {
      const clang::OffsetOfNode& node = offset.getComponent(i);
      if (node.getKind() != clang::OffsetOfNode::Field) continue;
      const clang::FieldDecl& field = *node.getField();
      if (field.isAnonymousStructOrUnion()) continue;
      expression.steps.push_back({RecordName(HolderOf(field)), field.getName().str()});
    }
    expression.use = Use::kOffset;
    Report(offset.getBeginLoc(), expression);
  }

  void ReportWhole(clang::QualType type, clang::SourceLocation location, Use use) {
    MemberExpression expression;
    expression.type = TypeName(type);
    expression.use = use;
    expression.whole = true;
    Report(location, expression);
  }

  void Report(clang::SourceLocation location, const MemberExpression& expression) {
    for (const SourceLine& line : lines_.Of(location, statement_)) sink_(line, expression);
  }

  clang::ASTContext& context_;
  SourceLines& lines_;
  const ExpressionSink& sink_;
  clang::SourceRange statement_;
};

// Functions lie in the file itself and, in C++, in namespaces and classes.
void WalkDeclarations(const clang::DeclContext& context, BodyWalker& walker) {
  for (const clang::Decl* declaration : context.decls()) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    if (function != nullptr) {
      const bool has_body = function->doesThisDeclarationHaveABody() && !function->isDependentContext();
      if (has_body) walker.Walk(function->getBody());
    } else if (const auto* inner = llvm::dyn_cast<clang::DeclContext>(declaration)) {
      WalkDeclarations(*inner, walker);
    }
  }
}

}  // namespace

void WalkFunctions(clang::ASTContext& context, const ExpressionSink& sink) {
  SourceLines lines(context.getSourceManager());
  BodyWalker walker(context, lines, sink);
  WalkDeclarations(*context.getTranslationUnitDecl(), walker);
}

}  // namespace linesmith
