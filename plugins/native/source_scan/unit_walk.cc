// SPDX-License-Identifier: GPL-2.0-or-later
#include "unit_walk.h"

#include "clang/AST/RecursiveASTVisitor.h"
#include "collector.h"
#include "member_use.h"
#include "offset_use.h"
#include "pointer_cast.h"
#include "positional.h"
#include "record_source.h"
#include "type_names.h"

namespace linesmith {
namespace {

class UnitWalk : public clang::RecursiveASTVisitor<UnitWalk> {
  using Base = clang::RecursiveASTVisitor<UnitWalk>;

 public:
  explicit UnitWalk(Collector& collector) : collector_(collector), positional_(collector) {}

  bool TraverseDecl(clang::Decl* declaration) {
    if (declaration == nullptr) return true;
    collector_.ancestors.Enter(*declaration);
    Base::TraverseDecl(declaration);
    collector_.ancestors.Leave();
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
    collector_.AddUse(declaration, field->getName().str(), UseOfPlace(collector_.ancestors),
                      member->getMemberLoc());
    return true;
  }

  bool VisitOffsetOfExpr(clang::OffsetOfExpr* offset) {
    FindOffsetUse(*offset, collector_);
    return true;
  }

  bool VisitUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr* size) {
    FindSizeUse(*size, collector_);
    return true;
  }

  bool VisitCastExpr(clang::CastExpr* cast) {
    FindFirstMemberCast(*cast, collector_);
    return true;
  }

 private:
  Collector& collector_;
  Positional positional_;
};

}  // namespace

void WalkUnit(clang::ASTContext& context, const ScanOptions& options, UnitFacts& facts) {
  Collector collector(context, options, facts);
  UnitWalk(collector).TraverseDecl(context.getTranslationUnitDecl());
  for (const clang::RecordDecl* record : collector.index.records())
    facts.records.push_back(SourceOf(*record, collector));
  const clang::SourceManager& sources = context.getSourceManager();
  for (auto file = sources.fileinfo_begin(); file != sources.fileinfo_end(); ++file)
    facts.includes.push_back(AbsolutePath(sources, file->first.getName()));
  std::sort(facts.includes.begin(), facts.includes.end());
}

}  // namespace linesmith
