// SPDX-License-Identifier: GPL-2.0-or-later
#include "source_lines.h"

#include <algorithm>
#include <utility>

#include "clang/Basic/FileManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace linesmith {
namespace {

std::string AbsoluteName(const clang::SourceManager& sources, clang::FileID file) {
  const clang::OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  if (!entry) return "";
  llvm::SmallString<256> path(entry->getName());
  sources.getFileManager().makeAbsolutePath(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return std::string(path);
}

}  // namespace

const std::string& SourceLines::NameOf(clang::FileID file) {
  const auto [found, added] = names_.try_emplace(file);
  if (added) found->second = AbsoluteName(sources_, file);
  return found->second;
}

void SourceLines::Add(clang::SourceLocation location, clang::SourceRange statement, Place place,
                      std::vector<SourceLine>& lines) {
  if (location.isInvalid()) return;
  const clang::FileID file = sources_.getFileID(location);
  SourceLine line;
  line.file = NameOf(file);
  // Built-in macros and pasted tokens lie in no file.
  if (line.file.empty()) return;
  line.line = sources_.getLineNumber(file, sources_.getFileOffset(location));
  line.first = line.last = line.line;
  line.place = place;
  if (statement.isValid()) {
    const clang::SourceLocation begin = sources_.getExpansionLoc(statement.getBegin());
    const clang::SourceLocation end = sources_.getExpansionRange(statement.getEnd()).getEnd();
    if (sources_.getFileID(begin) == file && sources_.getFileID(end) == file) {
      line.first = std::min(line.line, sources_.getExpansionLineNumber(begin));
      line.last = std::max(line.line, sources_.getExpansionLineNumber(end));
    }
  }
  lines.push_back(std::move(line));
}

std::vector<SourceLine> SourceLines::Of(clang::SourceLocation location, clang::SourceRange statement) {
  std::vector<SourceLine> lines;
  if (!location.isMacroID()) {
    Add(location, statement, Place::kSource, lines);
    return lines;
  }
  Add(sources_.getExpansionLoc(location), statement, Place::kExpansion, lines);
  Add(sources_.getSpellingLoc(location), clang::SourceRange(), Place::kSpelling, lines);
  return lines;
}

}  // namespace linesmith
