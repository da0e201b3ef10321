// SPDX-License-Identifier: GPL-2.0-or-later
#include "pointer_cast.h"

#include "type_names.h"

namespace linesmith {
namespace {

const clang::FieldDecl* FirstField(const clang::RecordDecl& record) {
  for (const clang::FieldDecl* field : record.fields()) {
    if (!field->isUnnamedBitField()) return field;
  }
  return nullptr;
}

// The ways by which `record` begins with something of type `inner`, as first fields from the outside in.
bool BeginsWith(const clang::RecordDecl* record, clang::QualType inner, const clang::ASTContext& context,
                std::vector<const clang::FieldDecl*>& way) {
  if (record == nullptr || record->getDefinition() == nullptr) return false;
  record = record->getDefinition();
  if (record->isUnion()) {
    // Any member of a union lies at its beginning.
    for (const clang::FieldDecl* field : record->fields()) {
      way.push_back(field);
      if (context.hasSameUnqualifiedType(field->getType(), inner)) return true;
      if (BeginsWith(field->getType()->getAsRecordDecl(), inner, context, way)) return true;
      way.pop_back();
    }
    return false;
  }
  const clang::FieldDecl* first = FirstField(*record);
  if (first == nullptr) return false;
  way.push_back(first);
  clang::QualType type = first->getType();
  if (context.hasSameUnqualifiedType(type, inner)) return true;
  while (const clang::ArrayType* array = context.getAsArrayType(type)) {
    type = array->getElementType();
    if (context.hasSameUnqualifiedType(type, inner)) return true;
  }
  if (BeginsWith(type->getAsRecordDecl(), inner, context, way)) return true;
  way.pop_back();
  return false;
}

// Bytes are what any record can be looked at as.
bool IsByteLike(clang::QualType type) {
  return type->isVoidType() || type->isCharType() || type->isFunctionType();
}

void Report(const clang::CastExpr& cast, clang::QualType outer, clang::QualType inner, Collector& collector) {
  std::vector<const clang::FieldDecl*> way;
  if (IsByteLike(inner) || !BeginsWith(outer->getAsRecordDecl(), inner, collector.context, way)) return;
  for (const clang::FieldDecl* field : way) {
    const clang::RecordDecl& holder = HolderOf(*field);
    const int declaration = collector.index.IndexOf(&holder);
    if (declaration < 0 || holder.isUnion() || field->getName().empty()) continue;
    collector.Add({DependencyKind::kFirstMemberCast, declaration, {field->getName().str()}},
                  cast.getExprLoc());
  }
}

}  // namespace

void FindFirstMemberCast(const clang::CastExpr& cast, Collector& collector) {
  if (cast.getCastKind() != clang::CK_BitCast) return;
  const clang::QualType to = cast.getType()->getPointeeType();
  const clang::QualType from = cast.getSubExpr()->getType()->getPointeeType();
  if (to.isNull() || from.isNull()) return;
  Report(cast, from, to, collector);
  Report(cast, to, from, collector);
}

}  // namespace linesmith
