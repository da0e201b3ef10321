// SPDX-License-Identifier: GPL-2.0-or-later
#include "atom_lines.h"

#include <algorithm>

namespace linesmith {
namespace {

bool StandsAlone(const FileToken& token, const FileTokens& tokens) {
  const unsigned line_end = tokens.NextLine(token.range.end);
  return token.kind == TokenKind::kComment && tokens.IsFirstOnLine(token.range.start) &&
         tokens.TextOf({token.range.end, line_end}).trim().empty();
}

unsigned ColumnOf(unsigned offset, const FileTokens& tokens) {
  unsigned column = 0;
  for (const char letter : tokens.TextOf({tokens.LineStart(offset), offset}))
    column = letter == '\t' ? (column / 8 + 1) * 8 : column + 1;
  return column;
}

// Comments that stand this far right of a declaration continue what is said beside it.
constexpr unsigned kBesideColumns = 8;

bool StandsBeside(const FileToken& comment, unsigned declaration_column, const FileTokens& tokens) {
  return StandsAlone(comment, tokens) &&
         ColumnOf(comment.range.start, tokens) >= declaration_column + kBesideColumns;
}

// The end of the comment beside `declaration`, with those below that continue it.
unsigned EndBeside(const ByteRange& declaration, const FileTokens& tokens) {
  const auto& all = tokens.tokens();
  const unsigned column = ColumnOf(declaration.start, tokens);
  unsigned end = declaration.end;
  std::size_t i = tokens.IndexAt(end);
  const bool beside =
      i < all.size() && all[i].kind == TokenKind::kComment && all[i].range.start < tokens.NextLine(end);
  if (beside) end = all[i++].range.end;
  for (; i < all.size() && StandsBeside(all[i], column, tokens); ++i) {
    if (tokens.NextLine(end) != tokens.LineStart(all[i].range.start)) break;
    end = all[i].range.end;
  }
  return end;
}

// The member that a line of a comment begins to describe, "" for none: " * @name: text".
llvm::StringRef DescribedBy(llvm::StringRef line) {
  line = line.trim().ltrim("/*").ltrim();
  if (!line.consume_front("@")) return "";
  const llvm::StringRef name = line.take_until([](char letter) { return letter == ':' || letter == ' '; });
  return line.drop_front(name.size()).ltrim().starts_with(":") ? name : "";
}

bool EndsDescription(llvm::StringRef line) {
  const llvm::StringRef words = line.trim().ltrim("/*").trim();
  return words.empty() || words == "/" || !DescribedBy(line).empty();
}

}  // namespace

std::optional<ByteRange> CommentAbove(unsigned offset, const FileTokens& tokens) {
  const std::size_t i = tokens.IndexAt(offset);
  if (i == 0) return std::nullopt;
  const FileToken& before = tokens.tokens()[i - 1];
  const bool adjacent = tokens.NextLine(before.range.end) == tokens.LineStart(offset);
  if (!adjacent || !StandsAlone(before, tokens)) return std::nullopt;
  return before.range;
}

ByteRange AtomAround(const ByteRange& declaration, const FileTokens& tokens) {
  ByteRange atom{declaration.start, EndBeside(declaration, tokens)};
  if (tokens.IsFirstOnLine(atom.start)) {
    const unsigned column = ColumnOf(declaration.start, tokens);
    while (const std::optional<ByteRange> comment = CommentAbove(atom.start, tokens)) {
      if (ColumnOf(comment->start, tokens) >= column + kBesideColumns) break;
      atom.start = comment->start;
    }
    atom.start = tokens.LineStart(atom.start);
  }
  const unsigned next = tokens.NextLine(atom.end);
  if (tokens.TextOf({atom.end, next}).trim().empty()) atom.end = next;
  return atom;
}

std::vector<ByteRange> LinesAbout(llvm::StringRef name, const ByteRange& comment, const FileTokens& tokens) {
  std::vector<ByteRange> found;
  unsigned line = tokens.LineStart(comment.start);
  while (line < comment.end) {
    unsigned next = tokens.NextLine(line);
    const llvm::StringRef described = DescribedBy(tokens.TextOf({line, next}));
    const bool about = described == name || described.rsplit('.').second == name;
    const unsigned start = line;
    line = next;
    if (described.empty() || !about) continue;
    while (line < comment.end && !EndsDescription(tokens.TextOf({line, tokens.NextLine(line)})))
      line = tokens.NextLine(line);
    found.push_back({start, std::min(line, comment.end)});
  }
  return found;
}

}  // namespace linesmith
