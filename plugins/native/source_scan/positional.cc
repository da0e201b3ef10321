// SPDX-License-Identifier: GPL-2.0-or-later
#include "positional.h"

#include "type_names.h"

namespace linesmith {
namespace {

bool IsGiven(const clang::Expr* value) {
  return value != nullptr && !llvm::isa<clang::ImplicitValueInitExpr, clang::NoInitExpr>(value);
}

bool IsZeroLiteral(const clang::Expr& value) {
  const auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(value.IgnoreParenImpCasts());
  return literal != nullptr && literal->getValue() == 0;
}

// {0} fills any record with zeros, whatever its first member is.
bool IsZeroOfAll(const clang::InitListExpr& list) {
  const clang::InitListExpr* inner = &list;
  for (;;) {
    for (unsigned i = 1; i < inner->getNumInits(); ++i) {
      if (IsGiven(inner->getInit(i))) return false;
    }
    if (inner->getNumInits() == 0 || !IsGiven(inner->getInit(0))) return true;
    const auto* next = llvm::dyn_cast<clang::InitListExpr>(inner->getInit(0));
    if (next == nullptr) return IsZeroLiteral(*inner->getInit(0));
    // Braces that are written say that the first member is a record or an array.
    const clang::InitListExpr* written = next->getSyntacticForm();
    if (written != nullptr && written->getLBraceLoc().isValid()) return false;
    inner = next;
  }
}

// The outermost of the lists around the visited one, if an array lies between.
const clang::Stmt* TableAround(const Ancestors& ancestors) {
  const clang::Stmt* table = nullptr;
  for (std::size_t steps = 1;; ++steps) {
    const auto* list = ancestors.At(steps).As<clang::InitListExpr>();
    if (list == nullptr) return table;
    if (list->getType()->isArrayType()) table = list;
  }
}

std::string MemberName(const clang::FieldDecl& field) {
  if (!field.getName().empty()) return field.getName().str();
  // A list of an anonymous record's members: the first one stands for them.
  const clang::RecordDecl* inner = field.getType()->getAsRecordDecl();
  if (inner == nullptr || inner->field_empty()) return "";
  return MemberName(**inner->field_begin());
}

}  // namespace

void Positional::NoteDesignated(const clang::InitListExpr& written) {
  for (const clang::Expr* value : written.inits()) {
    const auto* designated = llvm::dyn_cast<clang::DesignatedInitExpr>(value);
    if (designated == nullptr) continue;
    designated_.insert(designated->getInit()->getBeginLoc().getRawEncoding());
    designated_.insert(designated->getBeginLoc().getRawEncoding());
    for (const clang::DesignatedInitExpr::Designator& designator : designated->designators()) {
      designated_.insert(designator.getBeginLoc().getRawEncoding());
      if (!designator.isFieldDesignator()) continue;
      const clang::FieldDecl* field = designator.getFieldDecl();
      if (field == nullptr || field->getName().empty()) continue;
      const int declaration = collector_.index.IndexOf(&HolderOf(*field));
      if (declaration >= 0)
        collector_.AddUse(declaration, field->getName().str(), UseKind::kWrite, designator.getFieldLoc());
    }
  }
}

bool Positional::IsDesignated(const clang::Expr& value) const {
  return designated_.contains(value.getBeginLoc().getRawEncoding());
}

std::vector<std::string> Positional::GivenFields(const clang::InitListExpr& list,
                                                 const clang::RecordDecl& record) const {
  std::vector<std::string> members;
  std::string before;
  unsigned position = 0;
  for (const clang::FieldDecl* field : record.fields()) {
    if (field->isUnnamedBitField()) continue;
    if (position >= list.getNumInits()) break;
    const clang::Expr* value = list.getInit(position++);
    if (!IsGiven(value)) {
      before.clear();
      continue;
    }
    const std::string name = MemberName(*field);
    if (!IsDesignated(*value)) {
      if (!before.empty()) members.push_back(before);
      members.push_back(name);
    }
    before = name;
  }
  return members;
}

void Positional::Visit(const clang::InitListExpr& semantic) {
  const clang::InitListExpr* written = semantic.getSyntacticForm();
  NoteDesignated(written != nullptr ? *written : semantic);
  const clang::RecordDecl* record = semantic.getType()->getAsRecordDecl();
  const int declaration = collector_.index.IndexOf(record);
  if (declaration < 0 || record->isUnion() || IsZeroOfAll(semantic)) return;
  std::vector<std::string> members =
      collector_.index.InOrder(declaration, GivenFields(semantic, *record->getDefinition()));
  if (!members.empty()) Report(semantic, declaration, std::move(members));
}

void Positional::Report(const clang::InitListExpr& list, int declaration, std::vector<std::string> members) {
  const clang::Stmt* table = TableAround(collector_.ancestors);
  const auto [told, added] = tables_.try_emplace({table, declaration}, 0);
  if (table == nullptr || added) {
    DependencyFact fact{DependencyKind::kPositional, declaration, std::move(members)};
    told->second = collector_.Add(std::move(fact), list.getBeginLoc());
    return;
  }
  DependencyFact& first = collector_.dependency(told->second);
  ++first.count;
  members.insert(members.end(), first.members.begin(), first.members.end());
  first.members = collector_.index.InOrder(declaration, std::move(members));
}

}  // namespace linesmith
