// SPDX-License-Identifier: GPL-2.0-or-later
#include "member_use.h"

#include <optional>

namespace linesmith {
namespace {

UseKind UseInAssembly(const clang::GCCAsmStmt& assembly, const clang::Stmt* operand) {
  for (unsigned i = 0; i < assembly.getNumOutputs(); ++i) {
    if (assembly.getOutputExpr(i) == operand)
      return assembly.isOutputPlusConstraint(i) ? UseKind::kUpdate : UseKind::kWrite;
  }
  return UseKind::kRead;
}

// Climbs from a place to what decides its use. While `pointer_` is set, what is climbed is an address of the
// place.
class Climber {
 public:
  explicit Climber(const Ancestors& ancestors) : ancestors_(ancestors) {}

  UseKind Climb() {
    std::optional<UseKind> use;
    for (std::size_t steps = 1; !use; ++steps) {
      const Ancestor above = ancestors_.At(steps);
      below_ = ancestors_.At(steps - 1).statement;
      if (above.statement == nullptr) return Otherwise();
      use = pointer_ ? StepFromAddress(*above.statement) : StepFromPlace(*above.statement);
    }
    return *use;
  }

 private:
  UseKind Otherwise() const { return pointer_ ? UseKind::kAddress : UseKind::kRead; }

  std::optional<UseKind> StepFromPlace(const clang::Stmt& above) {
    if (const auto* cast = llvm::dyn_cast<clang::CastExpr>(&above)) return StepThroughCast(*cast);
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&above)) return StepThroughUnary(*unary);
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(&above)) return UseInBinary(*binary);
    if (const auto* assembly = llvm::dyn_cast<clang::GCCAsmStmt>(&above))
      return UseInAssembly(*assembly, below_);
    if (llvm::isa<clang::UnaryExprOrTypeTraitExpr>(above)) return UseKind::kOffset;
    // A member of the place, or the same place.
    const bool goes_on = llvm::isa<clang::MemberExpr, clang::ParenExpr, clang::FullExpr, clang::ChooseExpr,
                                   clang::GenericSelectionExpr, clang::AbstractConditionalOperator>(above);
    return goes_on ? std::nullopt : std::optional(UseKind::kRead);
  }

  std::optional<UseKind> StepThroughCast(const clang::CastExpr& cast) {
    if (cast.getCastKind() == clang::CK_ArrayToPointerDecay) {
      pointer_ = true;
      return std::nullopt;
    }
    const bool same = cast.isGLValue() || cast.getCastKind() == clang::CK_NoOp;
    return same ? std::nullopt : std::optional(UseKind::kRead);
  }

  std::optional<UseKind> StepThroughUnary(const clang::UnaryOperator& unary) {
    if (unary.isIncrementDecrementOp()) return UseKind::kUpdate;
    pointer_ = unary.getOpcode() == clang::UO_AddrOf;
    const bool goes_on = pointer_ || unary.getOpcode() == clang::UO_Real ||
                         unary.getOpcode() == clang::UO_Imag || unary.getOpcode() == clang::UO_Extension;
    return goes_on ? std::nullopt : std::optional(UseKind::kRead);
  }

  std::optional<UseKind> UseInBinary(const clang::BinaryOperator& binary) const {
    if (!binary.isAssignmentOp() || binary.getLHS() != below_) return UseKind::kRead;
    return binary.isCompoundAssignmentOp() ? UseKind::kUpdate : UseKind::kWrite;
  }

  std::optional<UseKind> StepFromAddress(const clang::Stmt& above) {
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(&above)) {
      if (unary->getOpcode() != clang::UO_Deref) return UseKind::kAddress;
      pointer_ = false;
      return std::nullopt;
    }
    if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(&above)) {
      if (element->getBase() != below_) return UseKind::kAddress;
      pointer_ = false;
      return std::nullopt;
    }
    if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(&above)) {
      pointer_ = !member->isArrow();
      return std::nullopt;
    }
    const auto* cast = llvm::dyn_cast<clang::CastExpr>(&above);
    if (cast != nullptr && cast->getType()->isPointerType()) return std::nullopt;
    if (llvm::isa<clang::ParenExpr>(above)) return std::nullopt;
    return UseKind::kAddress;
  }

  const Ancestors& ancestors_;
  const clang::Stmt* below_ = nullptr;
  bool pointer_ = false;
};

}  // namespace

UseKind UseOfPlace(const Ancestors& ancestors) { return Climber(ancestors).Climb(); }

}  // namespace linesmith
