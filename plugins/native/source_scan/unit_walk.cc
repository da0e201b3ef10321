// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit_walk.h"

#include <algorithm>

#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "collector.h"
#include "container_of.h"
#include "member_use.h"
#include "offset_use.h"
#include "partial_copy.h"
#include "pointer_cast.h"
#include "positional.h"
#include "record_source.h"
#include "type_names.h"

namespace linesmith {
namespace {

class UnitWalk : public clang::RecursiveASTVisitor<UnitWalk> {
  using Base = clang::RecursiveASTVisitor<UnitWalk>;

 public:
  UnitWalk(Collector& collector, BarrenBodies& barren)
      : collector_(collector), positional_(collector), container_of_(collector), barren_(barren) {}

  bool TraverseDecl(clang::Decl* declaration) {
    if (declaration == nullptr) return true;
    const std::size_t told = collector_.count();
    collector_.ancestors.Enter(*declaration);
    Base::TraverseDecl(declaration);
    collector_.ancestors.Leave();
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(declaration);
    const bool barren =
        function != nullptr && function->doesThisDeclarationHaveABody() && collector_.count() == told;
    if (barren) barren_.Add(*function, collector_.context.getSourceManager());
    return true;
  }

  bool dataTraverseStmtPre(clang::Stmt* statement) {
    collector_.ancestors.Enter(*statement);
    return true;
  }

  bool dataTraverseStmtPost(clang::Stmt*) {
    collector_.ancestors.Leave();
    return true;
  }

  // Of types only the expressions in them say something: sizes of arrays, what typeof looks at.
  bool TraverseTypeLoc(clang::TypeLoc type) {
    for (; type; type = type.getNextTypeLoc()) {
      if (const auto array = type.getAs<clang::ArrayTypeLoc>()) TraverseStmt(array.getSizeExpr());
      if (const auto asked = type.getAs<clang::TypeOfExprTypeLoc>()) NoteAsked(asked.getUnderlyingExpr());
    }
    return true;
  }

  // The form with the places of all values; the other one, as written, has the same values.
  bool TraverseInitListExpr(clang::InitListExpr* list, DataRecursionQueue* = nullptr) {
    const clang::InitListExpr* semantic = list->isSemanticForm() ? list : list->getSemanticForm();
    if (semantic == nullptr) semantic = list;
    positional_.Visit(*semantic);
    for (clang::Expr* value : semantic->inits()) TraverseStmt(value);
    return true;
  }

  bool TraverseChooseExpr(clang::ChooseExpr* choice, DataRecursionQueue* = nullptr) {
    return TraverseStmt(choice->isConditionDependent() ? choice->getLHS() : choice->getChosenSubExpr());
  }

  bool VisitRecordDecl(clang::RecordDecl* record) {
    collector_.index.Note(*record);
    return true;
  }

  bool VisitMemberExpr(clang::MemberExpr* member) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member->getMemberDecl());
    if (field == nullptr || field->getName().empty()) return true;
    const int declaration = collector_.index.IndexOf(&HolderOf(*field));
    if (declaration < 0) return true;
    NoteBpf(*field, declaration, *member);
    collector_.AddUse(declaration, field->getName().str(), UseOfPlace(collector_.ancestors),
                      member->getMemberLoc());
    return true;
  }

  bool VisitOffsetOfExpr(clang::OffsetOfExpr* offset) {
    FindOffsetUse(*offset, collector_);
    container_of_.VisitOffset(*offset);
    return true;
  }

  bool VisitCallExpr(clang::CallExpr* call) {
    FindMemoryUse(*call, collector_);
    container_of_.VisitCall(*call);
    return true;
  }

  bool VisitUnaryOperator(clang::UnaryOperator* unary) {
    if (unary->getOpcode() == clang::UO_Deref)
      FindWideAccess(*unary->getSubExpr(), unary->getType(), collector_);
    return true;
  }

  bool VisitBinaryOperator(clang::BinaryOperator* binary) {
    FindAddressRange(*binary, collector_);
    return true;
  }

  bool VisitUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr* size) {
    FindSizeUse(*size, collector_);
    // sizeof(struct { int : condition ? 1 : -1; }): the record is declared nowhere else.
    const auto* record = size->isArgumentType() ? size->getArgumentType()->getAsRecordDecl() : nullptr;
    if (record != nullptr && record->getIdentifier() == nullptr && record->isCompleteDefinition() &&
        record->getTypedefNameForAnonDecl() == nullptr) {
      for (clang::FieldDecl* field : record->fields()) TraverseDecl(field);
    }
    return true;
  }

  bool VisitCastExpr(clang::CastExpr* cast) {
    FindFirstMemberCast(*cast, collector_);
    return true;
  }

 private:
  // The field that `member` names, and which of the records asked for it belongs to: -1 for none.
  std::pair<const clang::FieldDecl*, int> MemberOf(const clang::MemberExpr& member) const {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member.getMemberDecl());
    if (field == nullptr || field->getName().empty()) return {nullptr, -1};
    return {field, collector_.index.IndexOf(&HolderOf(*field))};
  }

  // Nothing happens to members whose type alone is asked for.
  void NoteAsked(const clang::Stmt* expression) {
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(expression)) {
      const auto [field, declaration] = MemberOf(*member);
      if (declaration >= 0)
        collector_.AddUse(declaration, field->getName().str(), UseKind::kOffset, member->getMemberLoc());
    }
    for (const clang::Stmt* child : expression->children()) {
      if (child != nullptr) NoteAsked(child);
    }
  }

  // BPF programs find members by name when they are loaded.
  void NoteBpf(const clang::FieldDecl& field, int declaration, const clang::MemberExpr& member) {
    if (!HolderOf(field).hasAttr<clang::BPFPreserveAccessIndexAttr>()) return;
    DependencyFact fact{DependencyKind::kBpfCore, declaration, {field.getName().str()}};
    fact.binds = false;
    collector_.Add(std::move(fact), member.getMemberLoc());
  }

  Collector& collector_;
  Positional positional_;
  ContainerOf container_of_;
  BarrenBodies& barren_;
};

}  // namespace

void WalkUnit(clang::ASTContext& context, const ScanOptions& options, BarrenBodies& barren,
              UnitFacts& facts) {
  Collector collector(context, options, facts);
  UnitWalk(collector, barren).TraverseDecl(context.getTranslationUnitDecl());
  for (const clang::RecordDecl* record : collector.index.records())
    facts.records.push_back(SourceOf(*record, collector));
  const clang::SourceManager& sources = context.getSourceManager();
  for (auto file = sources.fileinfo_begin(); file != sources.fileinfo_end(); ++file)
    facts.includes.push_back(AbsolutePath(sources, file->first.getName()));
  std::sort(facts.includes.begin(), facts.includes.end());
}

}  // namespace linesmith
