// SPDX-License-Identifier: GPL-2.0-or-later
// Writes BTF blobs by hand, right or wrong, for the tests of the reader.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace linesmith {

class BtfBuilder {
 public:
  // Kinds as the blob numbers them.
  enum Kind : std::uint32_t {
    kInt = 1,
    kPointer,
    kArray,
    kStruct,
    kUnion,
    kEnum,
    kForward,
    kTypedef,
    kVolatile,
    kConst,
    kRestrict,
    kFunction,
    kFunctionPrototype,
    kVariable,
    kDataSection,
    kFloat,
    kDeclarationTag,
    kTypeTag,
    kEnum64,
  };

  struct Field {
    std::string_view name;
    std::uint32_t type;
    std::uint32_t bit_offset;
    std::uint32_t bit_size = 0;
  };

  // `first_id` and `first_string` go on from a base, for split BTF.
  explicit BtfBuilder(std::uint32_t first_id = 1, std::uint32_t first_string = 0)
      : next_id_(first_id), first_string_(first_string) {
    if (first_string == 0) strings_ = std::string(1, '\0');
  }

  // Every call adds one type and returns its id.
  std::uint32_t Int(std::string_view name, std::uint32_t bytes) { return BitInt(name, bytes, 0, bytes * 8); }
  std::uint32_t BitInt(std::string_view name, std::uint32_t bytes, std::uint32_t bit_offset,
                       std::uint32_t bits) {
    return Add(kInt, name, bytes, 0, {bit_offset << 16 | bits});
  }
  std::uint32_t Refer(Kind kind, std::uint32_t type, std::string_view name = "") {
    return Add(kind, name, type);
  }
  std::uint32_t Array(std::uint32_t element, std::uint32_t count) {
    return Add(kArray, "", 0, 0, {element, 1, count});
  }
  std::uint32_t Sized(Kind kind, std::string_view name, std::uint32_t bytes) {
    return Add(kind, name, bytes);
  }
  std::uint32_t Forward(std::string_view name, bool is_union) {
    return Add(kForward, name, 0, is_union ? kFlag : 0);
  }
  std::uint32_t Function(std::uint32_t result, std::initializer_list<std::uint32_t> parameters) {
    std::vector<std::uint32_t> words;
    for (const std::uint32_t type : parameters) words.insert(words.end(), {0, type});
    return Add(kFunctionPrototype, "", result, static_cast<std::uint32_t>(parameters.size()), words);
  }
  // A record with kind_flag: each field may be a bit-field.
  std::uint32_t Struct(std::string_view name, std::uint32_t bytes, std::initializer_list<Field> fields) {
    return Record(kStruct, name, bytes, kFlag, fields);
  }
  std::uint32_t Union(std::string_view name, std::uint32_t bytes, std::initializer_list<Field> fields) {
    return Record(kUnion, name, bytes, kFlag, fields);
  }
  // A record without kind_flag: offsets have 32 bits, and bit-fields are told by their integer type.
  std::uint32_t OldStruct(std::string_view name, std::uint32_t bytes, std::initializer_list<Field> fields) {
    return Record(kStruct, name, bytes, 0, fields);
  }
  // Any type at all: `info_bits` are added to the kind's info word.
  std::uint32_t Add(std::uint32_t kind, std::string_view name, std::uint32_t size_or_type,
                    std::uint32_t info_bits = 0, const std::vector<std::uint32_t>& words = {}) {
    types_.insert(types_.end(), {String(name), kind << 24 | info_bits, size_or_type});
    types_.insert(types_.end(), words.begin(), words.end());
    return next_id_++;
  }

  std::uint32_t next_id() const { return next_id_; }
  std::uint32_t strings_end() const { return first_string_ + static_cast<std::uint32_t>(strings_.size()); }
  std::string& strings() { return strings_; }

  std::vector<std::uint8_t> Build(bool big_endian = false) const {
    std::vector<std::uint8_t> blob;
    const auto type_bytes = static_cast<std::uint32_t>(types_.size() * 4);
    Append(blob, 0xeb9f, 2, big_endian);
    blob.insert(blob.end(), {1, 0});
    for (const std::uint32_t word :
         {24U, 0U, type_bytes, type_bytes, static_cast<std::uint32_t>(strings_.size())}) {
      Append(blob, word, 4, big_endian);
    }
    for (const std::uint32_t word : types_) Append(blob, word, 4, big_endian);
    blob.insert(blob.end(), strings_.begin(), strings_.end());
    return blob;
  }

 private:
  static constexpr std::uint32_t kFlag = 1U << 31;

  std::uint32_t Record(Kind kind, std::string_view name, std::uint32_t bytes, std::uint32_t flag,
                       std::initializer_list<Field> fields) {
    std::vector<std::uint32_t> words;
    for (const Field& field : fields) {
      words.insert(words.end(), {String(field.name), field.type, field.bit_size << 24 | field.bit_offset});
    }
    return Add(kind, name, bytes, flag | static_cast<std::uint32_t>(fields.size()), words);
  }

  std::uint32_t String(std::string_view text) {
    if (text.empty()) return 0;
    const std::uint32_t offset = strings_end();
    strings_.append(text).push_back('\0');
    return offset;
  }

  static void Append(std::vector<std::uint8_t>& blob, std::uint32_t value, int bytes, bool big_endian) {
    for (int i = 0; i < bytes; ++i) {
      const int shift = 8 * (big_endian ? bytes - 1 - i : i);
      blob.push_back(static_cast<std::uint8_t>(value >> shift));
    }
  }

  std::uint32_t next_id_;
  std::uint32_t first_string_;
  std::string strings_;
  std::vector<std::uint32_t> types_;
};

}  // namespace linesmith
