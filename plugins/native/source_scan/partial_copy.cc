// SPDX-License-Identifier: GPL-2.0-or-later
#include "partial_copy.h"

#include <algorithm>

#include "memory_function.h"
#include "offset_terms.h"
#include "pointee.h"

namespace linesmith {
namespace {

void ReportParts(const Pointee& pointee, std::uint64_t bits, clang::SourceLocation location,
                 Collector& collector) {
  for (const Level& level : pointee.levels) {
    const auto part = PartOf(level, pointee, bits, collector);
    if (!part) continue;
    DependencyFact fact{DependencyKind::kPartialCopy, level.declaration,
                        collector.index.MembersWithin(level.declaration, part->first, part->second)};
    fact.bytes = bits / 8;
    if (!fact.members.empty()) collector.Add(std::move(fact), location);
  }
}

// A length worked out from the offset at which the bytes begin, as in memset(&r->m, 0, size - offsetof(struct
// r, m)): they go on to the end.
void ReportRest(const Pointee& pointee, const clang::Expr& length, clang::SourceLocation location,
                Collector& collector) {
  for (const OffsetTerm& term : TermsBelow(length, collector).offsets) {
    for (const Level& level : pointee.levels) {
      if (level.declaration != term.declaration || !term.total || *term.total != level.offset) continue;
      const std::uint64_t end = collector.index.SizeOf(level.declaration);
      collector.told.insert(&length);
      collector.Add({DependencyKind::kPartialCopy, level.declaration,
                     collector.index.MembersWithin(level.declaration, level.offset, end)},
                    location);
    }
  }
}

// The records asked for that `type` is or holds by value.
void CollectHeld(clang::QualType type, const Collector& collector, std::vector<int>& held) {
  while (const clang::ArrayType* array = collector.context.getAsArrayType(type))
    type = array->getElementType();
  const clang::RecordDecl* record = type->getAsRecordDecl();
  if (record == nullptr || record->getDefinition() == nullptr) return;
  const int declaration = collector.index.IndexOf(record);
  if (declaration >= 0 && std::find(held.begin(), held.end(), declaration) == held.end())
    held.push_back(declaration);
  for (const clang::FieldDecl* field : record->getDefinition()->fields())
    CollectHeld(field->getType(), collector, held);
}

void ReportUserAbi(const clang::Expr& pointer, std::uint64_t bits, clang::SourceLocation location,
                   Collector& collector) {
  const clang::QualType given = pointer.IgnoreParenCasts()->getType();
  const clang::QualType type = given->isPointerType() ? given->getPointeeType() : given;
  if (type->isIncompleteType() || !type->isObjectType() || collector.context.getTypeSize(type) > bits) return;
  std::vector<int> held;
  CollectHeld(type, collector, held);
  for (const int declaration : held) collector.Add({DependencyKind::kUserAbi, declaration, {}}, location);
}

// Freed by the address of a member, which has to be the first one then.
void FindFree(const clang::CallExpr& call, Collector& collector) {
  const clang::Expr* freed = FreedArgument(call);
  if (freed == nullptr || !freed->getType()->isPointerType()) return;
  for (const Level& level : PointeeOf(*freed, collector).levels) {
    if (level.whole || level.offset != 0 || level.member.empty()) continue;
    collector.Add({DependencyKind::kFirstMemberCast, level.declaration, {level.member}}, call.getBeginLoc());
  }
}

}  // namespace

void FindMemoryUse(const clang::CallExpr& call, Collector& collector) {
  FindFree(call, collector);
  const std::optional<MemoryArguments> arguments = MemoryArgumentsOf(call);
  if (!arguments) return;
  const std::optional<std::uint64_t> length = KnownLength(*arguments->length, collector.context);
  if (!length) {
    for (const clang::Expr* pointer : arguments->pointers)
      ReportRest(PointeeOf(*pointer, collector), *arguments->length, call.getBeginLoc(), collector);
    return;
  }
  const std::uint64_t bits = *length * arguments->unit * 8;
  for (const clang::Expr* pointer : arguments->pointers) {
    const Pointee pointee = PointeeOf(*pointer, collector);
    if (!pointee.levels.empty()) {
      collector.told.insert(arguments->length);
      collector.told.insert(&SourceOfLength(*arguments->length));
    }
    ReportParts(pointee, bits, call.getBeginLoc(), collector);
    if (arguments->leaves_program) ReportUserAbi(*pointer, bits, call.getBeginLoc(), collector);
  }
}

void FindWideAccess(const clang::Expr& pointer, clang::QualType accessed, Collector& collector) {
  const auto* cast = llvm::dyn_cast<clang::CastExpr>(pointer.IgnoreParenImpCasts());
  if (cast == nullptr || cast->getCastKind() != clang::CK_BitCast) return;
  if (accessed->isIncompleteType() || !accessed->isObjectType() || collector.ancestors.IsUnevaluated())
    return;
  const Pointee pointee = PointeeOf(pointer, collector);
  ReportParts(pointee, collector.context.getTypeSize(accessed), pointer.getExprLoc(), collector);
}

void FindAddressRange(const clang::BinaryOperator& arithmetic, Collector& collector) {
  const clang::Expr& left = *arithmetic.getLHS();
  const clang::Expr& right = *arithmetic.getRHS();
  const bool fits = arithmetic.getOpcode() == clang::BO_Sub || arithmetic.isRelationalOp();
  if (!fits || !left.getType()->isPointerType() || !right.getType()->isPointerType()) return;
  const Pointee one = PointeeOf(left, collector);
  const Pointee other = PointeeOf(right, collector);
  for (const Level& a : one.levels) {
    for (const Level& b : other.levels) {
      if (a.declaration != b.declaration || a.member.empty() || b.member.empty() || a.member == b.member)
        continue;
      const std::uint64_t start = std::min(a.offset, b.offset);
      const std::uint64_t end = std::max(a.offset, b.offset) + 1;
      collector.Add({DependencyKind::kOffsetRange, a.declaration,
                     collector.index.MembersWithin(a.declaration, start, end)},
                    arithmetic.getOperatorLoc());
    }
  }
}

}  // namespace linesmith
