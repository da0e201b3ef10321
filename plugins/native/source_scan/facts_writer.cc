// SPDX-License-Identifier: GPL-2.0-or-later
#include "facts_writer.h"

#include "llvm/Support/JSON.h"

namespace linesmith {
namespace {

using Json = llvm::json::OStream;

const char* WordFor(DependencyKind kind) {
  switch (kind) {
    case DependencyKind::kPositional:
      return "positional initialiser";
    case DependencyKind::kOffsetof:
      return "offsetof";
    case DependencyKind::kOffsetRange:
      return "range between offsets";
    case DependencyKind::kAssertion:
      return "static assertion";
    case DependencyKind::kFirstMemberCast:
      return "cast between the record and its first member";
    case DependencyKind::kContainerOfFirst:
      return "container_of on offset 0";
    case DependencyKind::kPartialCopy:
      return "copy or clear of a part";
    case DependencyKind::kUserAbi:
      return "user space interface";
    case DependencyKind::kAsmOffset:
      return "offset for assembly";
    case DependencyKind::kBpfCore:
      return "BPF program that relocates its accesses";
    case DependencyKind::kRandomized:
      return "randomised layout";
  }
  return "";
}

const char* WordFor(UseKind kind) {
  switch (kind) {
    case UseKind::kRead:
      return "read";
    case UseKind::kWrite:
      return "write";
    case UseKind::kUpdate:
      return "update";
    case UseKind::kAddress:
      return "address";
    case UseKind::kOffset:
      return "offset";
  }
  return "";
}

void Text(Json& json, llvm::StringRef name, const std::string& text) {
  json.attribute(name, llvm::json::fixUTF8(text));
}

void Number(Json& json, llvm::StringRef name, const std::optional<std::uint64_t>& number) {
  if (number) {
    json.attribute(name, *number);
  } else {
    json.attribute(name, nullptr);
  }
}

void Texts(Json& json, llvm::StringRef name, const std::vector<std::string>& texts) {
  json.attributeArray(name, [&] {
    for (const std::string& text : texts) json.value(llvm::json::fixUTF8(text));
  });
}

void Range(Json& json, const ByteRange& range) {
  json.array([&] {
    json.value(range.start);
    json.value(range.end);
  });
}

void Range(Json& json, llvm::StringRef name, const ByteRange& range) {
  json.attributeBegin(name);
  Range(json, range);
  json.attributeEnd();
}

void Ranges(Json& json, llvm::StringRef name, const std::vector<ByteRange>& ranges) {
  json.attributeArray(name, [&] {
    for (const ByteRange& range : ranges) Range(json, range);
  });
}

void WritePlace(Json& json, const Place& place) {
  Text(json, "file", place.file);
  json.attribute("line", place.line);
  Text(json, "text", place.text);
  Text(json, "macro", place.macro);
  Text(json, "written", place.written);
}

void WriteMember(Json& json, const MemberFact& member) {
  json.object([&] {
    Text(json, "name", member.name);
    json.attribute("inside", member.inside);
    json.attribute("line", member.line);
    json.attribute("start", member.atom.start);
    json.attribute("end", member.atom.end);
    Range(json, "declaration", member.declaration);
    Text(json, "macro", member.macro);
    Texts(json, "others", member.others);
    Ranges(json, "docs", member.docs);
    Number(json, "offset_bits", member.offset_bits);
    Number(json, "bits", member.bits);
  });
}

void WriteRecord(Json& json, const RecordFact& record) {
  json.object([&] {
    Text(json, "record", record.record);
    Text(json, "kind", record.kind);
    Text(json, "file", record.file);
    json.attribute("line", record.line);
    json.attribute("start", record.whole.start);
    json.attribute("end", record.whole.end);
    Range(json, "body", record.body);
    if (record.comment) {
      Range(json, "comment", *record.comment);
    } else {
      json.attribute("comment", nullptr);
    }
    Text(json, "macro", record.macro);
    Number(json, "bytes", record.bytes);
    json.attribute("randomized", record.randomized);
    json.attribute("packed", record.packed);
    json.attributeArray("members", [&] {
      for (const MemberFact& member : record.members) WriteMember(json, member);
    });
  });
}

void WriteDependency(Json& json, const DependencyFact& dependency, const std::string& record) {
  json.object([&] {
    json.attribute("kind", WordFor(dependency.kind));
    json.attribute("declaration", dependency.declaration);
    Text(json, "record", record);
    Texts(json, "members", dependency.members);
    WritePlace(json, dependency.place);
    Text(json, "function", dependency.function);
    Text(json, "relation", dependency.relation);
    Number(json, "bytes", dependency.bytes);
    json.attribute("binds", dependency.binds);
    json.attribute("count", dependency.count);
  });
}

void WriteUse(Json& json, const UseFact& use, const std::string& record) {
  json.object([&] {
    json.attribute("kind", WordFor(use.kind));
    json.attribute("declaration", use.declaration);
    Text(json, "record", record);
    Text(json, "member", use.member);
    WritePlace(json, use.place);
    Text(json, "function", use.function);
  });
}

void WriteLists(Json& json, const UnitFacts& facts) {
  json.attributeArray("records", [&] {
    for (const RecordFact& record : facts.records) WriteRecord(json, record);
  });
  json.attributeArray("dependencies", [&] {
    for (const DependencyFact& dependency : facts.dependencies)
      WriteDependency(json, dependency, facts.records[dependency.declaration].record);
  });
  json.attributeArray("uses", [&] {
    for (const UseFact& use : facts.uses) WriteUse(json, use, facts.records[use.declaration].record);
  });
  Texts(json, "includes", facts.includes);
}

}  // namespace

void WriteFacts(const UnitFacts& facts, llvm::raw_ostream& output) {
  Json json(output);
  json.object([&] {
    Text(json, "unit", facts.unit);
    json.attribute("errors", facts.errors);
    Text(json, "complaint", facts.complaint);
    json.attribute("fatal", facts.fatal);
    json.attribute("seconds", facts.seconds);
    WriteLists(json, facts);
  });
  output << '\n';
  output.flush();
}

}  // namespace linesmith
