// SPDX-License-Identifier: GPL-2.0-or-later
#include "offset_use.h"

#include <algorithm>

#include "assertion.h"
#include "offset_root.h"
#include "offset_terms.h"

namespace linesmith {
namespace {

const NamedMember* MemberNamed(const Collector& collector, int declaration, const std::string& name) {
  for (const NamedMember& member : collector.index.MembersOf(declaration)) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

// Members of one record whose offsets or sizes are part of the same arithmetic.
struct Group {
  std::vector<std::string> offsets;
  std::vector<std::string> sizes;
  bool whole = false;
};

Group GroupOf(const Terms& terms, int declaration) {
  Group group;
  for (const OffsetTerm& term : terms.offsets) {
    if (term.declaration == declaration) group.offsets.push_back(term.member);
  }
  for (const auto& [record, member] : terms.member_sizes) {
    if (record == declaration) group.sizes.push_back(member);
  }
  group.whole =
      std::find(terms.whole_sizes.begin(), terms.whole_sizes.end(), declaration) != terms.whole_sizes.end();
  std::sort(group.offsets.begin(), group.offsets.end());
  group.offsets.erase(std::unique(group.offsets.begin(), group.offsets.end()), group.offsets.end());
  return group;
}

std::vector<std::string> Between(const Collector& collector, int declaration, const Group& group) {
  const std::uint64_t size = collector.index.SizeOf(declaration);
  std::uint64_t start = group.offsets.size() > 1 || group.whole ? size : 0;
  std::uint64_t end = group.whole && group.offsets.size() == 1 ? size : 0;
  for (const std::string& name : group.offsets) {
    const NamedMember* member = MemberNamed(collector, declaration, name);
    if (member == nullptr) continue;
    start = std::min(start, member->offset);
    end = std::max(end, member->offset + member->size);
  }
  return collector.index.MembersWithin(declaration, start, end);
}

// Two members, or one and its own size (all up to its end), or one and the record's size (all from it on).
bool IsRange(const Group& group) {
  if (group.offsets.size() > 1) return true;
  const bool own =
      std::find(group.sizes.begin(), group.sizes.end(), group.offsets.front()) != group.sizes.end();
  return own || group.whole;
}

void ReportValue(const Terms& terms, int declaration, clang::SourceLocation location, Collector& collector) {
  const Group group = GroupOf(terms, declaration);
  DependencyFact fact{DependencyKind::kOffsetof, declaration, group.offsets};
  fact.binds = IsRange(group);
  if (fact.binds) {
    fact.kind = DependencyKind::kOffsetRange;
    fact.members = Between(collector, declaration, group);
  }
  collector.Add(std::move(fact), location);
}

void ReportAssembly(const Terms& terms, int declaration, clang::SourceLocation location,
                    Collector& collector) {
  DependencyFact fact{DependencyKind::kAsmOffset, declaration, GroupOf(terms, declaration).offsets};
  fact.binds = false;
  collector.Add(std::move(fact), location);
}

std::vector<int> DeclarationsOf(const Terms& terms) {
  std::vector<int> declarations = terms.whole_sizes;
  for (const OffsetTerm& term : terms.offsets) declarations.push_back(term.declaration);
  std::sort(declarations.begin(), declarations.end());
  declarations.erase(std::unique(declarations.begin(), declarations.end()), declarations.end());
  return declarations;
}

void ReportRoot(const OffsetRoot& root, clang::SourceLocation location, Collector& collector) {
  if (root.purpose == OffsetPurpose::kAssertion) return FindAssertions(*root.root, collector);
  const Terms terms = TermsBelow(*root.root, collector);
  for (const int declaration : DeclarationsOf(terms)) {
    if (root.purpose == OffsetPurpose::kAssembly) {
      ReportAssembly(terms, declaration, location, collector);
    } else if (!GroupOf(terms, declaration).offsets.empty()) {
      ReportValue(terms, declaration, location, collector);
    }
  }
}

// Where the member is named: what offsetof() is given stands in the source, however often it is handed on.
clang::SourceLocation NameOf(const clang::OffsetOfExpr& offset) {
  return offset.getComponent(offset.getNumComponents() - 1).getEndLoc();
}

}  // namespace

void FindOffsetUse(const clang::OffsetOfExpr& offset, Collector& collector) {
  const std::vector<OffsetTerm> terms = TermsOf(offset, collector);
  for (const OffsetTerm& term : terms)
    collector.AddUse(term.declaration, term.member, UseKind::kOffset, NameOf(offset));
  if (terms.empty()) return;
  const OffsetRoot root = RootOf(collector.ancestors);
  if (root.purpose == OffsetPurpose::kPointer) return;
  if (collector.told.insert(root.root).second) ReportRoot(root, NameOf(offset), collector);
}

void FindSizeUse(const clang::UnaryExprOrTypeTraitExpr& size, Collector& collector) {
  if (size.getKind() != clang::UETT_SizeOf || collector.index.IndexOf(size.getTypeOfArgument()) < 0) return;
  const OffsetRoot root = RootOf(collector.ancestors);
  const bool matters = root.purpose == OffsetPurpose::kAssertion || root.purpose == OffsetPurpose::kAssembly;
  if (matters && collector.told.insert(root.root).second) ReportRoot(root, size.getBeginLoc(), collector);
}

}  // namespace linesmith
