// SPDX-License-Identifier: GPL-2.0-or-later
#include "btf/btf_types.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace linesmith {
namespace {

constexpr std::uint16_t kMagic = 0xeb9f;
constexpr std::uint16_t kSwappedMagic = 0x9feb;
constexpr std::size_t kTypeBytes = 12;
constexpr std::size_t kWordBytes = 4;
constexpr std::size_t kSmallestHeader = 24;
// Linux takes names of up to 511 bytes; the limit keeps millions of entries from sharing one endless name.
constexpr std::size_t kLongestName = 4096;

// Bytes behind `struct btf_type`: a fixed part and a part per entry.
struct PayloadShape {
  std::uint8_t fixed = 0;
  std::uint8_t per_entry = 0;
};

constexpr PayloadShape ShapeOf(BtfKind kind) {
  switch (kind) {
    case BtfKind::kInt:
    case BtfKind::kVariable:
    case BtfKind::kDeclarationTag:
      return {4, 0};
    case BtfKind::kArray:
      return {12, 0};
    case BtfKind::kEnum:
    case BtfKind::kFunctionPrototype:
      return {0, 8};
    case BtfKind::kStruct:
    case BtfKind::kUnion:
    case BtfKind::kDataSection:
    case BtfKind::kEnum64:
      return {0, 12};
    default:
      return {};
  }
}

std::string Hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

// What is wrong with the info word of a stored type; empty when nothing is.
std::string InfoProblem(std::uint32_t info) {
  const std::uint32_t kind = info >> 24 & 0x1f;
  if (kind > static_cast<std::uint32_t>(BtfKind::kEnum64)) {
    return "is of kind " + std::to_string(kind) + ", which is newer than this reader (it knows 1 to 19)";
  }
  if (kind == 0) return "is of kind 0, which no stored type may have";
  if ((info & 0x60ff0000) != 0) return "sets reserved bits (info word " + Hex(info) + ")";
  return {};
}

}  // namespace

// Offsets count from the end of the header, as in the blob.
struct BtfTypes::Header {
  std::uint32_t length = 0;
  std::uint32_t type_offset = 0;
  std::uint32_t type_length = 0;
  std::uint32_t string_offset = 0;
  std::uint32_t string_length = 0;
};

BtfTypes::BtfTypes(std::string place, Bytes bytes, std::shared_ptr<const BtfTypes> base)
    : place_(std::move(place)), bytes_(bytes), base_(std::move(base)) {
  const Header header = ReadHeader();
  const Bytes types = Slice(std::uint64_t{header.length} + header.type_offset, header.type_length, "types");
  const Bytes strings =
      Slice(std::uint64_t{header.length} + header.string_offset, header.string_length, "strings");
  strings_ = {reinterpret_cast<const char*>(strings.data()), strings.size()};
  if (base_) {
    first_own_id_ = base_->count();
    first_own_string_ = base_->strings_end();
  }
  // Only a blob that stands alone begins with the empty string; a split one goes on behind its base.
  if (!base_ && (strings_.empty() || strings_.front() != '\0')) {
    throw Error("DebugInfoMissing",
                place_ +
                    ": this BTF is split (a kernel module's) and means nothing without that of "
                    "its kernel; read the module's DWARF, or the kernel's own BTF");
  }
  if (!strings_.empty() && strings_.back() != '\0') ThrowDamaged("its last string does not end");
  ReadTypes(types);
}

BtfTypes::Header BtfTypes::ReadHeader() {
  if (bytes_.size() < kSmallestHeader) {
    ThrowDamaged("it ends after " + std::to_string(bytes_.size()) + " bytes, inside the header");
  }
  std::uint16_t magic = 0;
  std::memcpy(&magic, bytes_.data(), sizeof magic);
  if (magic != kMagic && magic != kSwappedMagic)
    ThrowDamaged("it does not begin with the magic number 0xeb9f");
  swapped_ = magic == kSwappedMagic;
  if (base_ && base_->swapped_ != swapped_) ThrowDamaged("its byte order is not that of its base");
  if (bytes_[2] != 1)
    ThrowDamaged("it has version " + std::to_string(bytes_[2]) + ", only version 1 is known");
  Header header{Word(bytes_, 4), Word(bytes_, 8), Word(bytes_, 12), Word(bytes_, 16), Word(bytes_, 20)};
  if (header.length < kSmallestHeader || header.length > bytes_.size()) {
    ThrowDamaged("its header claims a length of " + std::to_string(header.length) + " bytes");
  }
  return header;
}

Bytes BtfTypes::Slice(std::uint64_t offset, std::uint64_t length, const char* what) const {
  if (offset > bytes_.size() || length > bytes_.size() - offset) {
    ThrowDamaged("its " + std::string(what) + " would end at " + Hex(offset + length) + ", behind its " +
                 Hex(bytes_.size()) + " bytes");
  }
  return bytes_.subspan(offset, length);
}

void BtfTypes::ReadTypes(Bytes section) {
  if (!base_) types_.emplace_back();  // type 0 is void and is not stored
  types_.reserve(section.size() / (2 * kTypeBytes));
  for (std::size_t offset = 0; offset < section.size();) {
    types_.push_back(ReadType(section, offset));
    offset += kTypeBytes + types_.back().payload.size();
  }
}

BtfType BtfTypes::ReadType(Bytes section, std::size_t offset) const {
  if (section.size() - offset < kTypeBytes) ThrowDamaged("type " + std::to_string(count()) + " is cut off");
  const std::uint32_t info = Word(section, offset + kWordBytes);
  if (const std::string problem = InfoProblem(info); !problem.empty()) {
    ThrowDamaged("type " + std::to_string(count()) + " at " + Hex(offset) + " " + problem);
  }
  BtfType type;
  type.kind = static_cast<BtfKind>(info >> 24 & 0x1f);
  type.kind_flag = info >> 31 != 0;
  type.entries = info & 0xffff;
  type.size_or_type = Word(section, offset + 2 * kWordBytes);
  type.name = StringAt(Word(section, offset));
  const PayloadShape shape = ShapeOf(type.kind);
  const std::size_t length = shape.fixed + std::size_t{shape.per_entry} * type.entries;
  if (length > section.size() - offset - kTypeBytes) {
    ThrowDamaged("type " + std::to_string(count()) + " at " + Hex(offset) + " has " +
                 std::to_string(type.entries) + " entries, more than the section holds");
  }
  type.payload = section.subspan(offset + kTypeBytes, length);
  return type;
}

const BtfType& BtfTypes::At(BtfTypeId id) const {
  if (id < first_own_id_) return base_->At(id);
  if (id >= count()) {
    ThrowDamaged("type " + std::to_string(id) + " is referred to, but there are only " +
                 std::to_string(count()));
  }
  return types_[id - first_own_id_];
}

BtfArray BtfTypes::ArrayOf(const BtfType& type) const {
  return {Word(type.payload, 0), Word(type.payload, 8)};
}

BtfIntEncoding BtfTypes::IntEncodingOf(const BtfType& type) const {
  const std::uint32_t word = Word(type.payload, 0);
  return {word >> 16 & 0xff, word & 0xff};
}

BtfMember BtfTypes::MemberOf(const BtfType& type, std::uint32_t position) const {
  const Bytes entry = type.payload.subspan(std::size_t{position} * 12, 12);
  const std::uint32_t offset = Word(entry, 8);
  BtfMember member{StringAt(Word(entry, 0)), Word(entry, 4), offset, 0};
  if (type.kind_flag) {
    member.bit_offset = offset & 0xffffff;
    member.bit_size = offset >> 24;
  }
  return member;
}

// The kind flag says that values are signed; before Linux 6.0 it was never set.
BtfEnumerator BtfTypes::EnumeratorOf(const BtfType& type, std::uint32_t position) const {
  const std::size_t width = type.kind == BtfKind::kEnum64 ? 12 : 8;
  const Bytes entry = type.payload.subspan(position * width, width);
  const std::uint32_t low = Word(entry, 4);
  const std::int64_t narrow = type.kind_flag ? static_cast<std::int32_t>(low) : std::int64_t{low};
  if (type.kind == BtfKind::kEnum) return {StringAt(Word(entry, 0)), narrow};
  const std::uint64_t wide = std::uint64_t{Word(entry, 8)} << 32 | low;
  return {StringAt(Word(entry, 0)), static_cast<std::int64_t>(wide)};
}

BtfTypeId BtfTypes::ParameterOf(const BtfType& type, std::uint32_t position) const {
  return Word(type.payload, std::size_t{position} * 8 + kWordBytes);
}

std::string_view BtfTypes::StringAt(std::uint64_t offset) const {
  if (offset < first_own_string_) return base_->StringAt(offset);
  if (offset >= strings_end()) {
    if (offset == 0) return {};
    ThrowDamaged("string offset " + Hex(offset) + " lies behind its strings, which end at " +
                 Hex(strings_end()));
  }
  const std::string_view rest = strings_.substr(offset - first_own_string_, kLongestName + 1);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) {
    ThrowDamaged("the name at string offset " + Hex(offset) + " is longer than " +
                 std::to_string(kLongestName) + " bytes");
  }
  return rest.substr(0, end);
}

std::uint32_t BtfTypes::Word(Bytes bytes, std::size_t offset) const {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.subspan(offset, sizeof value).data(), sizeof value);
  return swapped_ ? __builtin_bswap32(value) : value;
}

void BtfTypes::ThrowDamaged(const std::string& problem) const {
  throw Error("DebugInfoDamaged", place_ + ": the BTF is damaged: " + problem +
                                      "; fetch the file again or read its DWARF instead");
}

}  // namespace linesmith
