// SPDX-License-Identifier: GPL-2.0-or-later
// Sizes and alignments of BTF types, which BTF states for the named ones only.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "btf/btf_types.h"

namespace linesmith {

// An array as its ranks, outermost first (nested arrays and arrays behind typedefs merged), over `element`,
// which is no array, typedef or qualifier. `dimensions` is empty for what is no array.
struct BtfElement {
  BtfTypeId element = 0;
  std::vector<std::uint64_t> dimensions;
};

BtfElement ElementOf(const BtfTypes& types, BtfTypeId id);

// Bits of a bit-field, counted from the record's first.
struct BtfBits {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// The bits of `member` when it is a bit-field: because its record says so (kind_flag), or, as compilers
// before 2018 wrote it, because its integer type is narrower than its bytes.
std::optional<BtfBits> BitFieldOf(const BtfTypes& types, const BtfMember& member);

class BtfFacts {
 public:
  explicit BtfFacts(const BtfTypes& types);

  // In bytes; 0 for void (pahole's encoder writes `_Atomic` members so), functions and forward declarations.
  // Throws Error("DebugInfoDamaged") for what is no type and for sizes of more than 64 bits.
  std::uint64_t SizeOf(BtfTypeId id) const;
  // In bytes, as the psABIs say: a scalar aligns to its size (16 at most), a record to its neediest member,
  // and a record whose members lie closer than that is packed and aligns to 1.
  std::uint64_t AlignmentOf(BtfTypeId id);
  // The same without regard to packing: what the members ask for.
  std::uint64_t NaturalAlignmentOfRecord(BtfTypeId id);

 private:
  struct RecordAlignment {
    std::uint64_t natural = 1;
    bool packed = false;
    bool known = false;
  };

  std::uint64_t SizeOfScalar(BtfTypeId id) const;
  std::uint64_t AlignmentOfScalar(const BtfType& type) const;
  const RecordAlignment& AlignRecord(BtfTypeId id);
  std::uint64_t FindPointerBytes() const;

  const BtfTypes& types_;
  std::uint64_t pointer_bytes_;
  std::unordered_map<BtfTypeId, RecordAlignment> records_;
  int depth_ = 0;
};

}  // namespace linesmith
