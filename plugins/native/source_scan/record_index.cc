// SPDX-License-Identifier: GPL-2.0-or-later
#include "record_index.h"

#include <algorithm>

#include "clang/AST/RecordLayout.h"
#include "type_names.h"

namespace linesmith {

bool HasLayout(const clang::RecordDecl& record) {
  return record.isCompleteDefinition() && !record.isInvalidDecl() && !record.isDependentType();
}

void RecordIndex::Note(const clang::RecordDecl& record) {
  if (!record.isThisDeclarationADefinition() || !wanted_.contains(RecordName(record))) return;
  if (!indices_.try_emplace(&record, static_cast<int>(records_.size())).second) return;
  records_.push_back(&record);
  Flatten(record, 0, members_.emplace_back());
}

int RecordIndex::IndexOf(const clang::RecordDecl* record) const {
  if (record == nullptr || records_.empty()) return -1;
  const auto found = indices_.find(record->getDefinition());
  return found == indices_.end() ? -1 : found->second;
}

void RecordIndex::Flatten(const clang::RecordDecl& record, std::uint64_t base,
                          std::vector<NamedMember>& members) const {
  const bool placed = HasLayout(record);
  for (const clang::FieldDecl* field : record.fields()) {
    const std::uint64_t offset =
        placed ? base + context_.getASTRecordLayout(&record).getFieldOffset(field->getFieldIndex()) : 0;
    if (field->isAnonymousStructOrUnion()) {
      Flatten(*field->getType()->getAsRecordDecl(), offset, members);
    } else if (!field->getName().empty()) {
      std::uint64_t size = 0;
      if (placed) size = SizeOf(*field);
      members.push_back({field, field->getName().str(), offset, size});
    }
  }
}

std::uint64_t RecordIndex::SizeOf(const clang::FieldDecl& field) const {
  if (field.isBitField()) return field.getBitWidth()->EvaluateKnownConstInt(context_).getZExtValue();
  return context_.getTypeSize(field.getType());
}

std::vector<std::string> RecordIndex::MembersWithin(int index, std::uint64_t start, std::uint64_t end) const {
  std::vector<std::string> names;
  for (const NamedMember& member : members_[index]) {
    const bool touches = member.offset < end && start < member.offset + member.size;
    if (touches) names.push_back(member.name);
  }
  return names;
}

std::vector<std::string> RecordIndex::InOrder(int index, std::vector<std::string> names) const {
  std::vector<std::string> ordered;
  for (const NamedMember& member : members_[index]) {
    if (std::find(names.begin(), names.end(), member.name) != names.end()) ordered.push_back(member.name);
  }
  return ordered;
}

std::uint64_t RecordIndex::SizeOf(int index) const {
  const clang::RecordDecl& record = *records_[index];
  if (!HasLayout(record)) return 0;
  return context_.toBits(context_.getASTRecordLayout(&record).getSize());
}

}  // namespace linesmith
