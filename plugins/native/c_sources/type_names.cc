// SPDX-License-Identifier: GPL-2.0-or-later
#include "type_names.h"

#include "clang/AST/PrettyPrinter.h"

namespace linesmith {
namespace {

std::string TitleOf(const clang::RecordDecl& record) {
  const std::string name = RecordName(record);
  if (record.getTypedefNameForAnonDecl() != nullptr) return name;
  return name.empty() ? record.getKindName().str() : record.getKindName().str() + " " + name;
}

}  // namespace

std::string RecordName(const clang::RecordDecl& record) {
  if (const clang::TypedefNameDecl* given = record.getTypedefNameForAnonDecl()) return given->getName().str();
  return record.getName().str();
}

const clang::RecordDecl& HolderOf(const clang::FieldDecl& field) {
  const clang::RecordDecl* holder = field.getParent();
  while (holder->isAnonymousStructOrUnion()) {
    const auto* around = llvm::dyn_cast<clang::RecordDecl>(holder->getDeclContext());
    if (around == nullptr) break;
    holder = around;
  }
  return *holder;
}

std::string TypeName(clang::QualType type) {
  const clang::QualType plain = type.getCanonicalType().getUnqualifiedType();
  if (const auto* pointer = plain->getAs<clang::PointerType>())
    return TypeName(pointer->getPointeeType()) + " *";
  if (const auto* record = plain->getAs<clang::RecordType>()) return TitleOf(*record->getDecl());
  clang::PrintingPolicy policy{clang::LangOptions()};
  policy.AnonymousTagLocations = false;
  return plain.getAsString(policy);
}

}  // namespace linesmith
