// SPDX-License-Identifier: GPL-2.0-or-later
#include "pointee.h"

#include "clang/AST/RecordLayout.h"
#include "type_names.h"

namespace linesmith {
namespace {

class Follower {
 public:
  explicit Follower(const Collector& collector) : collector_(collector), context_(collector.context) {}

  Pointee FollowPointer(const clang::Expr& pointer) {
    const clang::Expr* place = BehindPointer(&pointer);
    if (place != nullptr) {
      BeginAt(place->getType());
      while (place != nullptr) place = Outwards(*place);
    }
    return std::move(found_);
  }

 private:
  void BeginAt(clang::QualType type) {
    const int declaration = collector_.index.IndexOf(type);
    if (declaration >= 0) found_.levels.push_back({declaration, moved_, moved_ == 0, ""});
    if (type->isIncompleteType() || !type->isObjectType()) return;
    const std::uint64_t size = context_.getTypeSize(type);
    if (size > moved_) found_.extent = size - moved_;
  }

  // The place that `pointer` is the address of; null where it is a value that leads somewhere.
  const clang::Expr* BehindPointer(const clang::Expr* pointer) {
    for (;;) {
      pointer = pointer->IgnoreParens();
      const auto* cast = llvm::dyn_cast<clang::CastExpr>(pointer);
      if (cast != nullptr && cast->getCastKind() == clang::CK_ArrayToPointerDecay) return cast->getSubExpr();
      const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(pointer);
      if (unary != nullptr && unary->getOpcode() == clang::UO_AddrOf) return unary->getSubExpr();
      const clang::Expr* inner = nullptr;
      if (cast != nullptr && cast->getCastKind() != clang::CK_LValueToRValue) inner = cast->getSubExpr();
      if (inner != nullptr && !inner->getType()->isPointerType() && !inner->getType()->isArrayType())
        inner = nullptr;
      if (inner == nullptr) inner = WithoutConstant(*pointer);
      if (inner == nullptr) break;
      pointer = inner;
    }
    EndAt(*pointer);
    return nullptr;
  }

  // `pointer` is a value: what it leads to is known by its type alone.
  void EndAt(const clang::Expr& pointer) {
    found_.base = &pointer;
    if (!pointer.getType()->isPointerType()) return;
    const clang::QualType type = pointer.getType()->getPointeeType();
    const int declaration = collector_.index.IndexOf(type);
    if (declaration >= 0 && found_.levels.empty()) BeginAt(type);
  }

  // The pointer in `pointer + constant`, which is remembered.
  const clang::Expr* WithoutConstant(const clang::Expr& pointer) {
    const auto* sum = llvm::dyn_cast<clang::BinaryOperator>(&pointer);
    if (sum == nullptr || sum->getOpcode() != clang::BO_Add || !sum->getType()->isPointerType())
      return nullptr;
    const bool left = sum->getLHS()->getType()->isPointerType();
    const clang::Expr* inner = left ? sum->getLHS() : sum->getRHS();
    clang::Expr::EvalResult steps;
    if (!(left ? sum->getRHS() : sum->getLHS())->EvaluateAsInt(steps, context_)) return nullptr;
    const clang::QualType element = inner->getType()->getPointeeType();
    const bool bytes = element->isVoidType() || element->isFunctionType() || element->isIncompleteType();
    const std::int64_t bits = steps.Val.getInt().getExtValue() * (bytes ? 8 : context_.getTypeSize(element));
    if (bits < 0) return nullptr;
    moved_ += static_cast<std::uint64_t>(bits);
    return inner;
  }

  // The place around `place`; null when the way ends.
  const clang::Expr* Outwards(const clang::Expr& any) {
    const clang::Expr& place = *any.IgnoreParens();
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(&place)) return AroundMember(*member);
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(&place))
      return AroundElement(*element);
    const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&place);
    if (unary != nullptr && unary->getOpcode() == clang::UO_Deref) return BehindPointer(unary->getSubExpr());
    found_.base = &place;
    return nullptr;
  }

  const clang::Expr* AroundMember(const clang::MemberExpr& member) {
    const auto* field = llvm::dyn_cast<clang::FieldDecl>(member.getMemberDecl());
    if (field == nullptr || !HasLayout(*field->getParent())) return nullptr;
    moved_ += context_.getASTRecordLayout(field->getParent()).getFieldOffset(field->getFieldIndex());
    if (!field->isAnonymousStructOrUnion() && name_.empty()) name_ = field->getName();
    if (!field->getParent()->isAnonymousStructOrUnion()) {
      const int declaration = collector_.index.IndexOf(field->getParent());
      if (declaration >= 0) found_.levels.push_back({declaration, moved_, false, name_.str()});
      name_ = "";
    }
    return member.isArrow() ? BehindPointer(member.getBase()) : member.getBase();
  }

  // An element: of arrays that are members, the rest of the array from there on is the object named.
  const clang::Expr* AroundElement(const clang::ArraySubscriptExpr& element) {
    const auto* decay = llvm::dyn_cast<clang::CastExpr>(element.getBase()->IgnoreParens());
    clang::Expr::EvalResult number;
    const bool known = element.getIdx()->EvaluateAsInt(number, context_);
    if (decay == nullptr || decay->getCastKind() != clang::CK_ArrayToPointerDecay || !known) return nullptr;
    const std::uint64_t skipped =
        number.Val.getInt().getZExtValue() * context_.getTypeSize(element.getType());
    moved_ += skipped;
    const clang::QualType array = decay->getSubExpr()->getType();
    const std::uint64_t all = array->isIncompleteType() ? 0 : context_.getTypeSize(array);
    if (found_.levels.empty() && all > skipped) found_.extent = all - skipped;
    return decay->getSubExpr();
  }

  const Collector& collector_;
  const clang::ASTContext& context_;
  Pointee found_;
  std::uint64_t moved_ = 0;
  llvm::StringRef name_;
};

// Arrays at the end of a record may be longer than declared.
bool EndsWith(const Level& level, const Collector& collector) {
  const std::vector<NamedMember>& members = collector.index.MembersOf(level.declaration);
  if (members.empty() || level.member != members.back().name) return false;
  const clang::QualType type = members.back().field->getType();
  return type->isArrayType() || type->isRecordType();
}

}  // namespace

Pointee PointeeOf(const clang::Expr& pointer, const Collector& collector) {
  return Follower(collector).FollowPointer(pointer);
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> PartOf(const Level& level, const Pointee& pointee,
                                                              std::uint64_t bits,
                                                              const Collector& collector) {
  const std::uint64_t size = collector.index.SizeOf(level.declaration);
  const bool named_only = !level.member.empty() && pointee.extent && bits <= *pointee.extent;
  const bool all = level.offset == 0 && bits >= size;
  if (bits == 0 || named_only || all || EndsWith(level, collector)) return std::nullopt;
  return std::pair(level.offset, std::min(level.offset + bits, size));
}

}  // namespace linesmith
