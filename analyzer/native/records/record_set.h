// SPDX-License-Identifier: GPL-2.0-or-later
// The distinct records of a reading: each layout once, with the first DIE that shows it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace linesmith {

// One layout of one record. The lowest (unit, offset) that has it stands for all.
struct Variant {
  std::uint64_t identity = 0;  // TypeIdentity::OfRecord; 0 marks a free place in the table
  std::uint32_t unit = 0;      // Unit::index of the first unit
  std::uint32_t last_unit = 0;
  std::uint64_t offset = 0;
  std::uint32_t units = 0;
};

// One worker's records; a flat table because it is asked once per record DIE, millions of times.
class VariantTable {
 public:
  VariantTable() : places_(1 << 14) {}

  // Counts the record `identity` at `offset` of unit `unit`; units come in ascending order.
  void Add(std::uint64_t identity, std::uint32_t unit, std::uint64_t offset) {
    if ((used_ + 1) * 2 > places_.size()) Grow();
    Variant& variant = Probe(identity);
    if (variant.identity == 0) {
      variant = {.identity = identity, .unit = unit, .last_unit = unit, .offset = offset, .units = 1};
      ++used_;
    } else if (variant.last_unit != unit) {
      variant.last_unit = unit;
      ++variant.units;
    }
  }
  std::vector<Variant> Take() const;

 private:
  Variant& Probe(std::uint64_t identity) {
    const std::size_t mask = places_.size() - 1;
    std::size_t place = identity >> 20 & mask;
    while (places_[place].identity != 0 && places_[place].identity != identity) place = (place + 1) & mask;
    return places_[place];
  }
  void Grow();

  std::vector<Variant> places_;
  std::size_t used_ = 0;
};

// All variants in order of first appearance; a record's id is its position.
class RecordSet {
 public:
  explicit RecordSet(const std::vector<VariantTable>& tables);

  const std::vector<Variant>& variants() const { return variants_; }
  // The id of a record; -1 when no scan met it.
  std::int64_t IdOf(std::uint64_t identity) const;

 private:
  std::vector<Variant> variants_;
  std::unordered_map<std::uint64_t, std::uint32_t> ids_;
};

}  // namespace linesmith
