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
#include "records/record_set.h"

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

// Member `member` of record `owner` holds a record `name` (qualified) by value that its unit does not define.
struct OpenMember {
  std::uint32_t owner = 0;
  std::uint32_t member = 0;
  std::string name;
};

// Sets the record, size and natural alignment of each open member from the definition that most units use;
// what no unit defines stays as it is.
void LinkDeclarations(const std::vector<OpenMember>& open, std::vector<Record>& records);

// One worker's builder.
class RecordBuilder {
 public:
  RecordBuilder(UnitPool& pool, TypeIdentity& identity, const RecordSet& records, TextBudget& budget)
      : chain_(pool), text_(chain_), identity_(identity), records_(records), budget_(budget) {}

  // Throws Truncated when the DIEs are damaged.
  Record Build(UnitContext& unit, std::uint32_t id);
  // Members of the records built so far that wait for a definition from another unit.
  const std::vector<OpenMember>& open_members() const { return open_members_; }

 private:
  void AddMembers(const TypeDie& record, std::uint32_t id, Record& result);
  void LinkRecord(const DieRef& held, OpenMember place, Member& member);
  Member BuildMember(UnitContext& unit, const DieHead& head, const Attributes& attributes,
                     const TypeShape& shape);

  TypeChain chain_;
  TypeText text_;
  TypeIdentity& identity_;
  const RecordSet& records_;
  TextBudget& budget_;
  std::vector<OpenMember> open_members_;
};

}  // namespace linesmith
