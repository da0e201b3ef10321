// SPDX-License-Identifier: GPL-2.0-or-later
#include "records/declarator.h"

#include <algorithm>
#include <ranges>

namespace linesmith {

Declarator::Declarator(std::string_view name) : inner_(name) {}

void Declarator::AddQualifier(std::string_view word) {
  if (std::ranges::find(qualifiers_, word) == qualifiers_.end()) qualifiers_.emplace_back(word);
}

void Declarator::AddPointer() { pointers_.push_back(TakeQualifiers()); }

// Qualifiers met before an array belong to its elements (C11 6.7.3, 9): they wait for the step behind it.
void Declarator::AddArray(const std::vector<std::uint64_t>& dimensions, bool flexible) {
  CommitPointers();
  for (std::size_t rank = 0; rank < dimensions.size(); ++rank) {
    const bool open = flexible && rank == 0;
    inner_ += open ? "[]" : "[" + std::to_string(dimensions[rank]) + "]";
  }
}

// A qualified function type means nothing (C11 6.7.3, 9); its qualifiers do not reach the return type.
void Declarator::AddFunction(std::string_view parameters) {
  CommitPointers();
  qualifiers_.clear();
  inner_.append("(").append(parameters).append(")");
}

Columns Declarator::Finish(std::string_view specifier) const {
  std::string type;
  for (const std::string& word : qualifiers_) type.append(word).append(" ");
  type.append(specifier);
  if (!qualifiers_.empty() && !pointers_.empty()) type += ' ';
  for (const std::string& qualifiers : pointers_ | std::views::reverse) type.append(" *").append(qualifiers);
  return {std::move(type), inner_};
}

// `*` binds weaker than `[]` and `()`: pointers to arrays and functions need parentheses.
void Declarator::CommitPointers() {
  if (pointers_.empty()) return;
  std::string stars;
  for (const std::string& qualifiers : pointers_ | std::views::reverse) stars.append("*").append(qualifiers);
  const bool spaced = !pointers_.front().empty() && !inner_.empty();
  inner_ = "(" + stars + (spaced ? " " : "") + inner_ + ")";
  pointers_.clear();
}

std::string Declarator::TakeQualifiers() {
  std::string text;
  for (const std::string& word : qualifiers_) text.append(" ").append(word);
  qualifiers_.clear();
  return text;
}

std::string Join(const Columns& columns) {
  if (columns.declarator.empty()) return columns.type;
  return columns.type + " " + columns.declarator;
}

}  // namespace linesmith
