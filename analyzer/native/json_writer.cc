// SPDX-License-Identifier: GPL-2.0-or-later
#include "json_writer.h"

#include <algorithm>
#include <string_view>

namespace linesmith {
namespace {

// Bytes of the UTF-8 sequence at the front of `text`; 0 when they are no valid UTF-8 (names are any bytes in
// DWARF).
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continued = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) < 0xe0) return continued(1) ? 2 : 0;
  if (byte(0) >= 0xe0 && byte(0) < 0xf0) {
    if (!continued(1) || !continued(2)) return 0;
    const bool overlong = byte(0) == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (byte(0) >= 0xf0 && byte(0) < 0xf5) {
    if (!continued(1) || !continued(2) || !continued(3)) return 0;
    const bool overlong = byte(0) == 0xf0 && byte(1) < 0x90;
    const bool too_large = byte(0) == 0xf4 && byte(1) >= 0x90;
    return overlong || too_large ? 0 : 4;
  }
  return 0;
}

// Whether a byte is a character of its own that JSON shows as it is.
bool IsPlain(char byte) { return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\'; }

class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }
  void Close() { out_ += '}'; }

  std::string& Key(std::string_view key) {
    if (!first_) out_ += ',';
    first_ = false;
    out_.append("\"").append(key).append("\":");
    return out_;
  }
  void Text(std::string_view key, std::string_view text) { Quote(Key(key), text); }
  void Number(std::string_view key, std::uint64_t number) { Key(key) += std::to_string(number); }
  void Flag(std::string_view key, bool flag) { Key(key) += flag ? "true" : "false"; }
  void TextUnlessEmpty(std::string_view key, std::string_view text) {
    if (!text.empty()) Text(key, text);
  }
  template <typename T>
  void NumberIfAny(std::string_view key, const std::optional<T>& number) {
    if (number) Number(key, *number);
  }

 private:
  static void Quote(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
      const std::size_t plain =
          static_cast<std::size_t>(std::ranges::find_if_not(text, IsPlain) - text.begin());
      out.append(text.substr(0, plain));
      text.remove_prefix(plain);
      if (text.empty()) break;
      const auto byte = static_cast<unsigned char>(text[0]);
      std::size_t length = Utf8Length(text);
      if (length == 0) {
        out += "\\ufffd";
        length = 1;
      } else if (byte == '"' || byte == '\\') {
        out.append("\\").append(1, text[0]);
      } else if (byte < 0x20) {
        out.append("\\u00").append(1, "01"[byte >> 4]).append(1, "0123456789abcdef"[byte & 15]);
      } else {
        out.append(text.substr(0, length));
      }
      text.remove_prefix(length);
    }
    out += '"';
  }

  std::string& out_;
  bool first_ = true;
};

std::string_view NameOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kUnion:
      return "union";
    case RecordKind::kClass:
      return "class";
    default:
      return "struct";
  }
}

std::string_view NameOf(MemberCategory category) {
  switch (category) {
    case MemberCategory::kScalar:
      return "scalar";
    case MemberCategory::kFloat:
      return "float";
    case MemberCategory::kEnum:
      return "enum";
    case MemberCategory::kPointer:
      return "pointer";
    case MemberCategory::kFunctionPointer:
      return "function pointer";
    case MemberCategory::kRecord:
      return "record";
    default:
      return "unknown";
  }
}

void WriteNumbers(std::string& out, const std::vector<std::uint64_t>& numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) out += ',';
    out += std::to_string(numbers[i]);
  }
  out += ']';
}

void WriteMember(std::string& out, const Member& member) {
  JsonObject object(out);
  object.Text("name", member.name);
  object.Text("type", member.type);
  object.Text("declarator", member.declarator);
  object.Number("offset", member.offset);
  object.Number("size", member.size);
  object.Number("natural_alignment", member.natural_alignment);
  object.NumberIfAny("alignment", member.alignment);
  object.NumberIfAny("bit_offset", member.bit_offset);
  object.NumberIfAny("bit_size", member.bit_size);
  if (!member.dimensions.empty()) WriteNumbers(object.Key("dimensions"), member.dimensions);
  if (member.flexible) object.Flag("flexible", true);
  if (member.category != MemberCategory::kScalar) object.Text("category", NameOf(member.category));
  object.NumberIfAny("record", member.record);
  object.TextUnlessEmpty("target", member.target);
  if (member.read_only_target) object.Flag("read_only_target", true);
  object.NumberIfAny("line", member.line);
  object.Close();
}

}  // namespace

std::string LayoutJson(std::uint32_t id, const Record& record) {
  std::string out;
  out.reserve(160 + record.members.size() * 160);
  JsonObject object(out);
  object.Number("id", id);
  object.Text("name", record.name);
  object.Text("kind", NameOf(record.kind));
  object.Number("size", record.size);
  object.Number("natural_alignment", record.natural_alignment);
  object.NumberIfAny("alignment", record.alignment);
  if (record.is_typedef) object.Flag("typedef", true);
  object.TextUnlessEmpty("file", record.file);
  object.NumberIfAny("line", record.line);
  object.TextUnlessEmpty("unit", record.unit);
  object.Number("units", record.units);
  object.Key("members") += '[';
  for (std::size_t i = 0; i < record.members.size(); ++i) {
    if (i > 0) out += ',';
    WriteMember(out, record.members[i]);
  }
  out += ']';
  object.Close();
  return out;
}

std::string IdentityJson(const FileIdentity& identity) {
  std::string out;
  JsonObject object(out);
  object.Text("path", identity.path);
  if (identity.build_id.empty()) {
    object.Key("build_id") += "null";
  } else {
    object.Text("build_id", identity.build_id);
  }
  object.Text("machine", identity.machine);
  object.Text("kind", identity.kind);
  object.Flag("little_endian", identity.little_endian);
  object.Number("address_bytes", identity.address_bytes);
  object.Flag("has_dwarf", identity.has_dwarf);
  object.Flag("has_btf", identity.has_btf);
  if (identity.debug_path) object.Text("debug_path", *identity.debug_path);
  object.Close();
  return out;
}

std::string TouchedJson(const std::vector<Touched>& touched) {
  std::string out = "[";
  for (const Touched& fact : touched) {
    if (out.size() > 1) out += ',';
    JsonObject object(out);
    object.Text("function", fact.function);
    object.Text("record", fact.record);
    object.Text("variable", fact.variable);
    object.Text("via", fact.via);
    object.TextUnlessEmpty("inlined_from", fact.inlined_from);
    if (fact.read_only) object.Flag("read_only", true);
    if (fact.by_value) object.Flag("by_value", true);
    object.Close();
  }
  out += ']';
  return out;
}

std::string ErrorJson(const Error& error) {
  std::string out;
  JsonObject object(out);
  object.Text("error", error.kind);
  object.Text("message", error.what());
  object.Close();
  return out;
}

std::string OperandsJson(const std::vector<Operand>& operands) {
  std::string out = "[";
  for (const Operand& operand : operands) {
    if (out.size() > 1) out += ',';
    JsonObject object(out);
    object.Text("function", operand.function);
    object.Key("displacement") += std::to_string(operand.access.displacement);
    object.Number("width", operand.access.width);
    object.Flag("reads", operand.access.reads);
    object.Flag("writes", operand.access.writes);
    object.Flag("atomic", operand.access.atomic);
    object.Close();
  }
  out += ']';
  return out;
}

}  // namespace linesmith
