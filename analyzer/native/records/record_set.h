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
  std::uint64_t identity = 0;  // TypeIdentity::OfRecord
  std::uint32_t unit = 0;      // Unit::index of the first unit
  std::uint32_t last_unit = 0;
  std::uint64_t offset = 0;
  std::uint32_t units = 1;

  // Units come in ascending order.
  void Count(std::uint32_t by) {
    if (last_unit == by) return;
    last_unit = by;
    ++units;
  }
};

// One worker's records, by a key that is cheaper than the identity: records of one key have one identity, but
// not the other way round. A flat table, because it is asked once per record DIE, millions of times.
class VariantTable {
 public:
  VariantTable() : places_(1 << 14) {}

  // Null for a key that is not known yet.
  Variant* Find(std::uint64_t key) {
    const Place& place = Probe(key);
    return place.key == key ? &variants_[place.variant] : nullptr;
  }
  // Counts the record at `offset` of unit `unit`, whose key was not known. Whether its layout is new.
  bool Add(std::uint64_t key, std::uint64_t identity, std::uint32_t unit, std::uint64_t offset);
  const std::vector<Variant>& variants() const { return variants_; }

 private:
  struct Place {
    std::uint64_t key = 0;  // 0: free
    std::uint32_t variant = 0;
  };

  Place& Probe(std::uint64_t key) {
    const std::size_t mask = places_.size() - 1;
    std::size_t place = key >> 20 & mask;
    while (places_[place].key != 0 && places_[place].key != key) place = (place + 1) & mask;
    return places_[place];
  }
  void Grow();

  std::vector<Variant> variants_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_identity_;
  std::vector<Place> places_;
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
