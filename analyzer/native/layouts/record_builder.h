// SPDX-License-Identifier: GPL-2.0-or-later
// From the first DIE of a record to the Record that Python sees.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layouts/type_chain.h"
#include "layouts/type_identity.h"
#include "layouts/type_text.h"
#include "records/record.h"

namespace linesmith {

// Where a bit-field lies: its storage unit in bytes, itself in bits of the record.
struct BitPlace {
  std::uint64_t offset = 0;
  std::uint64_t bit_offset = 0;
};

// Place of a bit-field of `storage` bytes in any of DWARF's forms (DWARF 4, 5.5.6; DWARF 5, 5.7.6).
BitPlace PlaceBitField(const Attributes& member, std::uint64_t storage, bool little_endian);

// Text that all builders together may still make: a small file can name one long string from many members.
class TextBudget {
 public:
  // `info_bytes` is the size of all units of the file at `path`.
  TextBudget(std::string path, std::uint64_t info_bytes)
      : path_(std::move(path)), left_(static_cast<std::int64_t>(kFloor + 8 * info_bytes)) {}

  // Throws Error("DebugInfoDamaged") when the budget is used up.
  void Spend(std::size_t bytes);

 private:
  static constexpr std::uint64_t kFloor = std::uint64_t{64} << 20;

  std::string path_;
  std::atomic<std::int64_t> left_;
};

// A member that holds a record by value: whose id is known when all units have been read.
struct HeldRecord {
  std::uint32_t member = 0;
  std::uint64_t identity = 0;  // TypeIdentity::OfRecord
  std::string name;            // qualified
};

struct BuiltRecord {
  Record record;
  std::vector<HeldRecord> held;
};

// One worker's builder.
class RecordBuilder {
 public:
  RecordBuilder(UnitPool& pool, TypeIdentity& identity, TextBudget& budget)
      : chain_(pool), text_(chain_), identity_(identity), budget_(budget) {}

  // The record at `offset`, used by one unit. Throws Truncated when the DIEs are damaged.
  BuiltRecord Build(UnitContext& unit, std::uint64_t offset);

 private:
  void AddMembers(const TypeDie& record, BuiltRecord& result);
  Member BuildMember(UnitContext& unit, const DieHead& head, const Attributes& attributes,
                     const TypeShape& shape);

  TypeChain chain_;
  TypeText text_;
  TypeIdentity& identity_;
  TextBudget& budget_;
};

}  // namespace linesmith
