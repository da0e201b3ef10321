// SPDX-License-Identifier: GPL-2.0-or-later
#include "places.h"

#include "clang/Basic/FileManager.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Support/Path.h"

namespace linesmith {
namespace {

std::string LineAround(const clang::SourceManager& sources, clang::SourceLocation location) {
  const auto [file, offset] = sources.getDecomposedLoc(location);
  const llvm::StringRef text = sources.getBufferData(file);
  const std::size_t start = text.rfind('\n', offset) + 1;  // npos + 1 is 0
  return text.slice(start, text.find('\n', offset)).trim().str();
}

}  // namespace

std::string AbsolutePath(const clang::SourceManager& sources, llvm::StringRef name) {
  llvm::SmallString<256> path(name);
  sources.getFileManager().makeAbsolutePath(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

const std::string& Places::FileOf(clang::FileID file) {
  const auto [found, added] = names_.try_emplace(file);
  if (added) {
    const clang::OptionalFileEntryRef entry = sources_.getFileEntryRefForID(file);
    if (entry) found->second = AbsolutePath(sources_, entry->getName());
  }
  return found->second;
}

llvm::SmallVector<llvm::StringRef, 8> Places::MacrosOf(clang::SourceLocation location) const {
  llvm::SmallVector<llvm::StringRef, 8> names;
  while (location.isMacroID()) {
    names.push_back(clang::Lexer::getImmediateMacroName(location, sources_, language_));
    location = sources_.getImmediateMacroCallerLoc(location);
  }
  return names;
}

Place Places::Of(clang::SourceLocation location) {
  Place place;
  if (location.isInvalid()) return place;
  const clang::SourceLocation stands = sources_.getFileLoc(location);
  const clang::FileID file = sources_.getFileID(stands);
  place.file = FileOf(file);
  place.line = sources_.getExpansionLineNumber(stands);
  place.text = LineAround(sources_, stands);
  const clang::SourceLocation written = sources_.getSpellingLoc(location);
  if (written == stands) return place;
  const auto macros = MacrosOf(location);
  if (!macros.empty()) place.macro = macros.back().str();
  const std::string& spelt = FileOf(sources_.getFileID(written));
  if (!spelt.empty()) place.written = spelt + ":" + std::to_string(sources_.getSpellingLineNumber(location));
  return place;
}

}  // namespace linesmith
