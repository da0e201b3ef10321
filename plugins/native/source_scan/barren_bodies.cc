// SPDX-License-Identifier: GPL-2.0-or-later
#include "barren_bodies.h"

#include "clang/AST/Stmt.h"
#include "llvm/Support/xxhash.h"

namespace linesmith {
namespace {

bool HasDirective(clang::SourceRange body, const clang::SourceManager& sources) {
  const auto [file, start] = sources.getDecomposedLoc(body.getBegin());
  const auto [last_file, end] = sources.getDecomposedLoc(body.getEnd());
  return file != last_file || sources.getBufferData(file).slice(start, end).contains('#');
}

}  // namespace

std::optional<BarrenBodies::Key> BarrenBodies::KeyOf(const clang::Decl& function,
                                                     const clang::SourceManager& sources) {
  const clang::SourceLocation location = function.getLocation();
  if (!location.isFileID() || sources.isInMainFile(location)) return std::nullopt;
  const auto [file, offset] = sources.getDecomposedLoc(location);
  const clang::OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  if (!entry) return std::nullopt;
  return Key(llvm::xxh3_64bits(entry->getName()), offset);
}

void BarrenBodies::Add(const clang::FunctionDecl& function, const clang::SourceManager& sources) {
  const clang::Stmt* body = function.getBody();
  const std::optional<Key> key = KeyOf(function, sources);
  if (body == nullptr || !key) return;
  const clang::SourceRange range = body->getSourceRange();
  const bool plain = range.getBegin().isFileID() && range.getEnd().isFileID();
  if (plain && !HasDirective(range, sources)) keys_.insert(*key);
}

bool BarrenBodies::Contains(const clang::Decl& function, const clang::SourceManager& sources) const {
  if (keys_.empty()) return false;
  const std::optional<Key> key = KeyOf(function, sources);
  return key && keys_.contains(*key);
}

}  // namespace linesmith
