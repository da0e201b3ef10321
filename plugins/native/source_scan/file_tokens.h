// SPDX-License-Identifier: GPL-2.0-or-later
// A file as written: tokens, comments and preprocessor lines by byte.
#pragma once

#include <vector>

#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "facts.h"

namespace linesmith {

enum class TokenKind : std::uint8_t { kOther, kComment, kDirective, kOpening, kClosing, kSemicolon };

struct FileToken {
  TokenKind kind = TokenKind::kOther;
  ByteRange range;
};

class FileTokens {
 public:
  FileTokens(const clang::SourceManager& sources, clang::FileID file, const clang::LangOptions& language);

  llvm::StringRef text() const { return text_; }
  llvm::StringRef TextOf(const ByteRange& range) const { return text_.slice(range.start, range.end); }
  const std::vector<FileToken>& tokens() const { return tokens_; }

  // The first token that begins at `offset` or behind it; tokens().size() if there is none.
  std::size_t IndexAt(unsigned offset) const;
  // The end of the declaration that goes on at `offset`: behind its semicolon, or `limit` where there is none
  // before.
  unsigned EndOfDeclaration(unsigned offset, unsigned limit) const;

  unsigned LineStart(unsigned offset) const;
  unsigned NextLine(unsigned offset) const;  // the first byte of the line after the one of `offset`
  unsigned LineOf(unsigned offset) const;    // from 1
  bool IsFirstOnLine(unsigned offset) const;

 private:
  llvm::StringRef text_;
  std::vector<FileToken> tokens_;
};

}  // namespace linesmith
