// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/unit_pool.h"

#include <cstdio>

#include "base/error.h"

namespace linesmith {
namespace {

constexpr std::size_t kMostOpenUnits = 512;
// Tables of sound files do not overlap, so each is read a few times at most; a made-up file can let every
// unit point into one long table and cost hours.
constexpr std::uint64_t kMostTableBytes = std::uint64_t{256} << 20;
// The same for what Spend() counts: kernels come to less than one step per byte of .debug_info.
constexpr std::uint64_t kMostSpent = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostSpentPerByte = 4;

}  // namespace

DebugFile& DebugInfo::Add(ElfFile elf) {
  const bool split_only = elf.Find(".debug_info") == nullptr && elf.Find(".debug_info.dwo") != nullptr;
  files.push_back(std::make_unique<DebugFile>(std::move(elf), split_only ? ".dwo" : ""));
  AddUnits(*files.back());
  return *files.back();
}

void DebugInfo::AddUnits(const DebugFile& file) {
  for (const std::unique_ptr<Unit>& unit : file.units()) {
    unit->index = static_cast<std::uint32_t>(units.size());
    units.push_back(unit.get());
    bytes += unit->end - unit->offset;
  }
}

void ThrowDamagedUnit(const Unit& unit) {
  char place[32];
  std::snprintf(place, sizeof place, "0x%llx", static_cast<unsigned long long>(unit.offset));
  throw Error("DebugInfoDamaged",
              unit.file->path() + ": the debug information of the unit at offset " + place +
                  " of .debug_info is damaged; rebuild the file, or read its BTF instead");
}

UnitContext& UnitPool::Open(const Unit& unit) {
  std::unique_ptr<UnitContext>& context = open_[&unit];
  if (context == nullptr) {
    try {
      context = std::make_unique<UnitContext>(unit, Abbreviations(unit));
      context->foreign_names = foreign_names_;
    } catch (const Truncated&) {
      open_.erase(&unit);
      ThrowDamagedUnit(unit);
    }
  }
  return *context;
}

void UnitPool::Trim() {
  if (open_.size() > kMostOpenUnits || info_.files.size() == 1) open_.clear();
}

void UnitPool::Restart(const ForeignNames& names) {
  open_.clear();
  foreign_names_ = &names;
}

std::shared_ptr<const AbbreviationTable> UnitPool::Abbreviations(const Unit& unit) {
  if (last_owner_ == nullptr || last_owner_->file != unit.file ||
      last_owner_->abbreviations != unit.abbreviations || last_owner_->widths != unit.widths) {
    last_table_ = std::make_shared<AbbreviationTable>(unit.file->sections().abbreviations, unit.abbreviations,
                                                      unit.widths);
    last_owner_ = &unit;
    table_bytes_ += last_table_->bytes();
    if (table_bytes_ > kMostTableBytes + 64 * unit.file->sections().abbreviations.size()) throw Truncated();
  }
  return last_table_;
}

DieRef UnitPool::FollowElsewhere(UnitContext& from, std::uint64_t reference) {
  const std::uint64_t value = reference & ((std::uint64_t{1} << kReferenceShift) - 1);
  const Unit* target = nullptr;
  std::uint64_t offset = value;
  switch (static_cast<ReferenceKind>(reference >> kReferenceShift)) {
    case ReferenceKind::kUnit:
      break;
    case ReferenceKind::kSection:
      target = from.unit().file->UnitAt(from.unit().section_index, value);
      break;
    case ReferenceKind::kSupplement:
      if (from.unit().file->supplement != nullptr) target = from.unit().file->supplement->UnitAt(0, value);
      break;
    case ReferenceKind::kSignature:
      if (value == 0 || value > info_.units.size()) return {};
      target = info_.units[value - 1];
      offset = target->type_offset;
      break;
  }
  if (target == nullptr) return {};
  UnitContext& context = target == &from.unit() ? from : Open(*target);
  return context.Contains(offset) ? DieRef{&context, offset} : DieRef{};
}

void UnitPool::Spend(std::uint64_t steps) {
  spent_ += steps;
  if (spent_ > kMostSpent + kMostSpentPerByte * info_.bytes) throw Truncated();
}

}  // namespace linesmith
