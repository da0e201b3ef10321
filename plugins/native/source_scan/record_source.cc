// SPDX-License-Identifier: GPL-2.0-or-later
#include "record_source.h"

#include <algorithm>

#include "atom_lines.h"
#include "clang/AST/Attr.h"
#include "clang/AST/RecordLayout.h"
#include "clang/Lex/Lexer.h"
#include "type_names.h"

namespace linesmith {
namespace {

class RecordReader {
 public:
  RecordReader(const clang::RecordDecl& record, Collector& collector)
      : record_(record),
        collector_(collector),
        sources_(collector.context.getSourceManager()),
        file_(sources_.getFileID(sources_.getExpansionLoc(record.getLocation()))),
        tokens_(sources_, file_, collector.context.getLangOpts()) {}

  RecordFact Read() {
    fact_.record = RecordName(record_);
    fact_.kind = record_.getKindName().str();
    fact_.file = collector_.places.FileOf(file_);
    fact_.line = sources_.getExpansionLineNumber(record_.getLocation());
    const auto macros = collector_.places.MacrosOf(record_.getLocation());
    if (!macros.empty()) fact_.macro = macros.back().str();
    ReadRanges();
    fact_.packed = record_.hasAttr<clang::PackedAttr>();
    if (HasLayout(record_))
      fact_.bytes = collector_.context.getASTRecordLayout(&record_).getSize().getQuantity();
    ReadMembers(record_, -1, 0, fact_.body);
    NameOthers();
    ReadDocs();
    ReadRandomization();
    ReadInterface();
    return std::move(fact_);
  }

 private:
  unsigned OffsetOf(clang::SourceLocation location) const {
    return sources_.getFileOffset(sources_.getExpansionLoc(location));
  }

  unsigned EndOf(clang::SourceLocation location) const {
    const clang::SourceLocation last = sources_.getExpansionRange(location).getEnd();
    return sources_.getFileOffset(last) +
           clang::Lexer::MeasureTokenLength(last, sources_, collector_.context.getLangOpts());
  }

  void ReadRanges() {
    const clang::SourceRange braces = record_.getBraceRange();
    const clang::TypedefNameDecl* given = record_.getTypedefNameForAnonDecl();
    fact_.whole.start = OffsetOf(given != nullptr ? given->getBeginLoc() : record_.getBeginLoc());
    fact_.body = {OffsetOf(braces.getBegin()), EndOf(braces.getEnd())};
    fact_.whole.end = tokens_.EndOfDeclaration(fact_.body.end, tokens_.text().size());
    fact_.comment = CommentAbove(fact_.whole.start, tokens_);
  }

  // The end of the declaration of `field`, which may name others before and after.
  ByteRange DeclarationOf(const clang::FieldDecl& field, const ByteRange& around) const {
    ByteRange range{OffsetOf(field.getBeginLoc()), EndOf(field.getEndLoc())};
    if (field.isAnonymousStructOrUnion()) {
      const clang::RecordDecl& inner = *field.getType()->getAsRecordDecl();
      range = {OffsetOf(inner.getBeginLoc()), EndOf(inner.getEndLoc())};
    }
    const std::size_t next = tokens_.IndexAt(range.end);
    const bool from_macro = field.getLocation().isMacroID() && !IsHandedToMacro(field);
    const auto& all = tokens_.tokens();
    const bool goes_on = next < all.size() && all[next].range.start < around.end;
    // A macro may bring its own semicolons.
    if (goes_on && (!from_macro || all[next].kind == TokenKind::kSemicolon))
      range.end = tokens_.EndOfDeclaration(range.end, std::max(range.end, around.end - 1));
    range.start = WithPrefix(range.start, around);
    return range;
  }

  bool IsHandedToMacro(const clang::FieldDecl& field) const {
    return sources_.isMacroArgExpansion(field.getBeginLoc()) &&
           sources_.isMacroArgExpansion(field.getEndLoc());
  }

  // Words on the same line before the type: attributes, and macros that give some.
  unsigned WithPrefix(unsigned start, const ByteRange& around) const {
    const unsigned line = std::max(tokens_.LineStart(start), around.start + 1);
    const auto& all = tokens_.tokens();
    for (std::size_t i = tokens_.IndexAt(start); i > 0; --i) {
      const FileToken& before = all[i - 1];
      const bool part = before.range.start >= line &&
                        (before.kind == TokenKind::kOther || before.kind == TokenKind::kClosing ||
                         before.kind == TokenKind::kOpening) &&
                        tokens_.TextOf(before.range) != "{" && tokens_.TextOf(before.range) != "}";
      if (!part) break;
      start = before.range.start;
    }
    return start;
  }

  void ReadMembers(const clang::RecordDecl& holder, int inside, std::uint64_t base, const ByteRange& around) {
    for (const clang::FieldDecl* field : holder.fields()) {
      const clang::SourceLocation location = sources_.getExpansionLoc(field->getLocation());
      if (sources_.getFileID(location) != file_) continue;
      ReadMember(*field, inside, base, around);
    }
  }

  void ReadMember(const clang::FieldDecl& field, int inside, std::uint64_t base, const ByteRange& around) {
    MemberFact member;
    member.name = field.getName().str();
    member.inside = inside;
    member.declaration = DeclarationOf(field, around);
    member.atom = AtomAround(member.declaration, tokens_);
    member.line = sources_.getExpansionLineNumber(
        field.isAnonymousStructOrUnion() ? field.getBeginLoc() : sources_.getFileLoc(field.getLocation()));
    const auto macros = collector_.places.MacrosOf(field.getLocation());
    if (!macros.empty()) member.macro = macros.back().str();
    const clang::RecordDecl& parent = *field.getParent();
    std::uint64_t offset = 0;
    if (HasLayout(parent)) {
      offset = base + collector_.context.getASTRecordLayout(&parent).getFieldOffset(field.getFieldIndex());
      member.offset_bits = offset;
      member.bits = field.isBitField()
                        ? field.getBitWidth()->EvaluateKnownConstInt(collector_.context).getZExtValue()
                        : collector_.context.getTypeSize(field.getType());
    }
    fact_.members.push_back(std::move(member));
    if (!field.isAnonymousStructOrUnion()) return;
    const clang::RecordDecl& inner = *field.getType()->getAsRecordDecl();
    const ByteRange braces{OffsetOf(inner.getBraceRange().getBegin()), EndOf(inner.getBraceRange().getEnd())};
    ReadMembers(inner, static_cast<int>(fact_.members.size()) - 1, offset, braces);
  }

  void NameOthers() {
    for (MemberFact& member : fact_.members) {
      for (const MemberFact& other : fact_.members) {
        const bool same =
            other.inside == member.inside && other.declaration.start == member.declaration.start;
        if (same && other.name != member.name) member.others.push_back(other.name);
      }
    }
  }

  void ReadDocs() {
    if (!fact_.comment) return;
    for (MemberFact& member : fact_.members) {
      if (!member.name.empty()) member.docs = LinesAbout(member.name, *fact_.comment, tokens_);
    }
  }

  // The attribute is a macro that most configurations leave empty.
  void ReadRandomization() {
    const llvm::StringRef text = tokens_.TextOf({fact_.whole.start, fact_.whole.end});
    fact_.randomized = record_.hasAttr<clang::RandomizeLayoutAttr>() || text.contains("__randomize_layout") ||
                       text.contains("randomized_struct_fields_start");
    if (!fact_.randomized) return;
    AddOwn(DependencyKind::kRandomized, false);
  }

  void ReadInterface() {
    if (llvm::StringRef(fact_.file).contains("/uapi/")) AddOwn(DependencyKind::kUserAbi, true);
    if (record_.hasAttr<clang::BPFPreserveAccessIndexAttr>()) AddOwn(DependencyKind::kBpfCore, false);
  }

  void AddOwn(DependencyKind kind, bool binds) {
    DependencyFact fact{kind, collector_.index.IndexOf(&record_), {}};
    fact.binds = binds;
    collector_.Add(std::move(fact), record_.getLocation());
  }

  const clang::RecordDecl& record_;
  Collector& collector_;
  const clang::SourceManager& sources_;
  clang::FileID file_;
  FileTokens tokens_;
  RecordFact fact_;
};

}  // namespace

RecordFact SourceOf(const clang::RecordDecl& record, Collector& collector) {
  return RecordReader(record, collector).Read();
}

}  // namespace linesmith
