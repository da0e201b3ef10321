// SPDX-License-Identifier: GPL-2.0-or-later
// Records as both readers (DWARF, BTF) hand them over; the JSON writer turns them into model.Layout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace linesmith {

enum class RecordKind : std::uint8_t { kStruct, kUnion, kClass };

enum class MemberCategory : std::uint8_t {
  kScalar,
  kFloat,
  kEnum,
  kPointer,
  kFunctionPointer,
  kRecord,
  kUnknown,
};

// One member. Offsets and sizes in bytes unless the name says bit; see analyzer/model/ for the meaning.
struct Member {
  std::string name;
  std::string type;
  std::string declarator;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t natural_alignment = 1;
  std::optional<std::uint64_t> alignment;
  std::optional<std::uint64_t> bit_offset;
  std::optional<std::uint64_t> bit_size;
  std::vector<std::uint64_t> dimensions;
  bool flexible = false;
  MemberCategory category = MemberCategory::kScalar;
  std::optional<std::uint32_t> record;  // id of the record held by value, typedefs and arrays taken off
  std::string target;                   // name of the record pointed to; empty for none
  bool read_only_target = false;        // the pointee is const
  std::optional<std::uint32_t> line;
};

// One record type with one layout; its id is its index in the reader's result.
struct Record {
  std::string name;
  RecordKind kind = RecordKind::kStruct;
  std::uint64_t size = 0;
  std::uint64_t natural_alignment = 1;
  std::optional<std::uint64_t> alignment;
  bool is_typedef = false;
  std::string file;
  std::optional<std::uint32_t> line;
  std::string unit;
  std::uint32_t units = 1;
  std::vector<Member> members;
};

}  // namespace linesmith
