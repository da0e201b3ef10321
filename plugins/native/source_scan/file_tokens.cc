// SPDX-License-Identifier: GPL-2.0-or-later
#include "file_tokens.h"

#include <algorithm>

#include "clang/Lex/Lexer.h"

namespace linesmith {
namespace {

TokenKind KindOf(const clang::Token& token) {
  switch (token.getKind()) {
    case clang::tok::comment:
      return TokenKind::kComment;
    case clang::tok::l_paren:
    case clang::tok::l_brace:
    case clang::tok::l_square:
      return TokenKind::kOpening;
    case clang::tok::r_paren:
    case clang::tok::r_brace:
    case clang::tok::r_square:
      return TokenKind::kClosing;
    case clang::tok::semi:
      return TokenKind::kSemicolon;
    default:
      return TokenKind::kOther;
  }
}

// The end of the line of `offset`, and of those that continue it.
unsigned EndOfDirective(llvm::StringRef text, unsigned offset) {
  for (;;) {
    const std::size_t end = text.find('\n', offset);
    if (end == llvm::StringRef::npos) return text.size();
    if (!text.slice(offset, end).rtrim('\r').ends_with("\\")) return end;
    offset = end + 1;
  }
}

}  // namespace

FileTokens::FileTokens(const clang::SourceManager& sources, clang::FileID file,
                       const clang::LangOptions& language)
    : text_(sources.getBufferData(file)) {
  clang::Lexer lexer(sources.getLocForStartOfFile(file), language, text_.begin(), text_.begin(), text_.end());
  lexer.SetCommentRetentionState(true);
  clang::Token token;
  unsigned directive_end = 0;
  for (;;) {
    lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof)) return;
    const unsigned start = sources.getFileOffset(token.getLocation());
    if (start < directive_end) continue;
    if (token.is(clang::tok::hash) && token.isAtStartOfLine()) {
      directive_end = EndOfDirective(text_, start);
      tokens_.push_back({TokenKind::kDirective, {start, directive_end}});
    } else {
      tokens_.push_back({KindOf(token), {start, start + token.getLength()}});
    }
  }
}

std::size_t FileTokens::IndexAt(unsigned offset) const {
  const auto found =
      std::lower_bound(tokens_.begin(), tokens_.end(), offset,
                       [](const FileToken& token, unsigned at) { return token.range.start < at; });
  return static_cast<std::size_t>(found - tokens_.begin());
}

unsigned FileTokens::EndOfDeclaration(unsigned offset, unsigned limit) const {
  int depth = 0;
  for (std::size_t i = IndexAt(offset); i < tokens_.size() && tokens_[i].range.start < limit; ++i) {
    const FileToken& token = tokens_[i];
    depth += token.kind == TokenKind::kOpening ? 1 : token.kind == TokenKind::kClosing ? -1 : 0;
    if (depth < 0) return limit;
    if (depth == 0 && token.kind == TokenKind::kSemicolon) return token.range.end;
  }
  return limit;
}

unsigned FileTokens::LineStart(unsigned offset) const {
  return static_cast<unsigned>(text_.rfind('\n', offset) + 1);  // npos + 1 is 0
}

unsigned FileTokens::NextLine(unsigned offset) const {
  const std::size_t end = text_.find('\n', offset);
  return end == llvm::StringRef::npos ? text_.size() : end + 1;
}

unsigned FileTokens::LineOf(unsigned offset) const { return text_.take_front(offset).count('\n') + 1; }

bool FileTokens::IsFirstOnLine(unsigned offset) const {
  return text_.slice(LineStart(offset), offset).trim().empty();
}

}  // namespace linesmith
