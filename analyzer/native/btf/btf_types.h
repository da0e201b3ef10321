// SPDX-License-Identifier: GPL-2.0-or-later
// The types of one BTF blob as it stores them, every offset and count checked once when it is opened.
// Source: Documentation/bpf/btf.rst and include/uapi/linux/btf.h of Linux.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"

namespace linesmith {

enum class BtfKind : std::uint8_t {
  kVoid,
  kInt,
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

constexpr bool IsRecord(BtfKind kind) { return kind == BtfKind::kStruct || kind == BtfKind::kUnion; }

using BtfTypeId = std::uint32_t;

// `struct btf_type` and the words behind it; `size_or_type` is in bytes where the kind has a size.
struct BtfType {
  BtfKind kind = BtfKind::kVoid;
  bool kind_flag = false;
  std::uint32_t entries = 0;  // members, parameters, enumerators: the "vlen"
  std::uint32_t size_or_type = 0;
  std::string_view name;
  Bytes payload;
};

// `struct btf_array`.
struct BtfArray {
  BtfTypeId element = 0;
  std::uint32_t count = 0;
};

// `struct btf_member`; `bit_size` is 0 unless the record says that this is a bit-field.
struct BtfMember {
  std::string_view name;
  BtfTypeId type = 0;
  std::uint64_t bit_offset = 0;
  std::uint32_t bit_size = 0;
};

// `struct btf_enum` and `struct btf_enum64`.
struct BtfEnumerator {
  std::string_view name;
  std::int64_t value = 0;
};

// The word behind an integer: where its bits lie in its bytes (how compilers before 2018 wrote bit-fields).
struct BtfIntEncoding {
  std::uint32_t bit_offset = 0;
  std::uint32_t bits = 0;
};

// The types of a blob, numbered behind those of its base. Immutable, so any number of threads may read it.
class BtfTypes {
 public:
  // `place` names the file (and section) in messages; `bytes` must outlive the value, `base` may be null.
  // Throws Error("DebugInfoDamaged") for every broken rule, Error("DebugInfoMissing") for a split blob
  // without base.
  BtfTypes(std::string place, Bytes bytes, std::shared_ptr<const BtfTypes> base);

  const std::string& place() const { return place_; }
  // Size of the blob and its base in bytes.
  std::uint64_t bytes_in_all() const { return bytes_.size() + (base_ ? base_->bytes_in_all() : 0); }
  BtfTypeId first_own_id() const { return first_own_id_; }
  // One more than the largest id.
  BtfTypeId count() const { return first_own_id_ + static_cast<BtfTypeId>(types_.size()); }

  // Throws Error("DebugInfoDamaged") when there is no such type.
  const BtfType& At(BtfTypeId id) const;
  BtfArray ArrayOf(const BtfType& type) const;
  BtfIntEncoding IntEncodingOf(const BtfType& type) const;
  BtfMember MemberOf(const BtfType& type, std::uint32_t position) const;
  BtfEnumerator EnumeratorOf(const BtfType& type, std::uint32_t position) const;
  // Type of a function's parameter; 0 behind the last named one stands for `...`.
  BtfTypeId ParameterOf(const BtfType& type, std::uint32_t position) const;

  [[noreturn]] void ThrowDamaged(const std::string& problem) const;

 private:
  struct Header;

  Header ReadHeader();
  void ReadTypes(Bytes section);
  BtfType ReadType(Bytes section, std::size_t offset) const;
  std::string_view StringAt(std::uint64_t offset) const;
  std::uint64_t strings_end() const { return first_own_string_ + strings_.size(); }
  std::uint32_t Word(Bytes bytes, std::size_t offset) const;
  Bytes Slice(std::uint64_t offset, std::uint64_t length, const char* what) const;

  std::string place_;
  Bytes bytes_;
  std::shared_ptr<const BtfTypes> base_;
  bool swapped_ = false;
  BtfTypeId first_own_id_ = 0;
  std::uint64_t first_own_string_ = 0;
  std::string_view strings_;
  std::vector<BtfType> types_;
};

}  // namespace linesmith
