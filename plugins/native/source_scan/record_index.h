// SPDX-License-Identifier: GPL-2.0-or-later
// The records asked for, and the order of their members.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringSet.h"

namespace linesmith {

// A member as code names it: those of anonymous records count for the record around them. Bits.
struct NamedMember {
  const clang::FieldDecl* field = nullptr;
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

class RecordIndex {
 public:
  RecordIndex(const clang::ASTContext& context, const llvm::StringSet<>& wanted)
      : context_(context), wanted_(wanted) {}

  // Takes `record` up if it is a definition under a name that is asked for.
  void Note(const clang::RecordDecl& record);

  // The place of `record` among those taken up; -1 for all others.
  int IndexOf(const clang::RecordDecl* record) const;
  int IndexOf(clang::QualType type) const { return IndexOf(type->getAsRecordDecl()); }
  const std::vector<const clang::RecordDecl*>& records() const { return records_; }
  const clang::RecordDecl& record(int index) const { return *records_[index]; }

  // Members in declaration order.
  const std::vector<NamedMember>& MembersOf(int index) const { return members_[index]; }
  // Those that lie in the bits `start` ... `end` at least in part; of a union all that begin there.
  std::vector<std::string> MembersWithin(int index, std::uint64_t start, std::uint64_t end) const;
  // `names` in declaration order, each once.
  std::vector<std::string> InOrder(int index, std::vector<std::string> names) const;
  std::uint64_t SizeOf(int index) const;  // bits

 private:
  std::uint64_t SizeOf(const clang::FieldDecl& field) const;
  void Flatten(const clang::RecordDecl& record, std::uint64_t base, std::vector<NamedMember>& members) const;

  const clang::ASTContext& context_;
  const llvm::StringSet<>& wanted_;
  std::vector<const clang::RecordDecl*> records_;
  std::vector<std::vector<NamedMember>> members_;
  llvm::DenseMap<const clang::RecordDecl*, int> indices_;
};

// Whether Clang knows the layout of `record`: it is complete and no member was in error.
bool HasLayout(const clang::RecordDecl& record);

}  // namespace linesmith
