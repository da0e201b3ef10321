// SPDX-License-Identifier: GPL-2.0-or-later
// The units one worker has open, and how references between units are followed.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dwarf/debug_file.h"
#include "dwarf/unit_context.h"

namespace linesmith {

// Every file and unit of one reading; shared by the workers, never changed after it is loaded.
struct DebugInfo {
  std::vector<std::unique_ptr<DebugFile>> files;
  std::vector<const Unit*> units;  // in reading order; Unit::index is the position here
  std::uint64_t bytes = 0;         // sum of the units' sizes

  // Appends the file and its units, those with the suffix ".dwo" where it has no others. Throws
  // Error("DebugInfoDamaged") when a unit header is impossible.
  DebugFile& Add(ElfFile elf);
  // Appends the units of a file that `files` has already.
  void AddUnits(const DebugFile& file);
};

// A DIE of some unit; null `unit` when a reference leads nowhere (to `void`, or to damage).
struct DieRef {
  UnitContext* unit = nullptr;
  std::uint64_t offset = 0;

  explicit operator bool() const { return unit != nullptr; }
};

// One worker's open units. Not shared between threads.
class UnitPool {
 public:
  explicit UnitPool(const DebugInfo& info) : info_(info) {}

  const DebugInfo& info() const { return info_; }
  // The unit, its root DIE read. Throws Error("DebugInfoDamaged") when it cannot be read.
  UnitContext& Open(const Unit& unit);
  // Forgets units when many have been opened; every UnitContext reference becomes invalid.
  void Trim();
  // Forgets all units; those opened from now on know `names`.
  void Restart(const ForeignNames& names);
  // The DIE that a decoded reference attribute of `from` means.
  DieRef Follow(UnitContext& from, std::uint64_t reference) {
    if (reference >> kReferenceShift != static_cast<std::uint64_t>(ReferenceKind::kUnit)) {
      return FollowElsewhere(from, reference);
    }
    return from.Contains(reference) ? DieRef{&from, reference} : DieRef{};
  }
  // Counts bytes and entries read from sections that units may share (lists, line programs). Throws Truncated
  // when they are far more than the files have: a made-up file can let every unit read the same ones.
  void Spend(std::uint64_t steps);

 private:
  DieRef FollowElsewhere(UnitContext& from, std::uint64_t reference);
  std::shared_ptr<const AbbreviationTable> Abbreviations(const Unit& unit);

  const DebugInfo& info_;
  std::unordered_map<const Unit*, std::unique_ptr<UnitContext>> open_;
  const ForeignNames* foreign_names_ = nullptr;
  // Units that share a table (dwz, type units, link-time optimisation) follow each other.
  std::shared_ptr<const AbbreviationTable> last_table_;
  const Unit* last_owner_ = nullptr;
  std::uint64_t table_bytes_ = 0;  // read so far
  std::uint64_t spent_ = 0;
};

// Says which unit of which file is damaged.
[[noreturn]] void ThrowDamagedUnit(const Unit& unit);

}  // namespace linesmith
