// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/split_dwarf.h"

#include <dwarf.h>

#include <filesystem>
#include <map>

#include "base/error.h"
#include "elf/debug_search.h"

namespace linesmith {
namespace {

// A skeleton holds its root DIE and nothing else; older versions of DWARF do not mark it in the header.
constexpr std::uint64_t kLargestSkeleton = 512;

struct Skeleton {
  const Unit* unit = nullptr;
  std::uint64_t id = 0;
  std::string file;
  const char* directory = "";
  std::uint64_t lines = 0;
};

std::vector<Skeleton> FindSkeletons(UnitPool& pool, const DebugFile& main) {
  std::vector<Skeleton> skeletons;
  for (const std::unique_ptr<Unit>& unit : main.units()) {
    const bool old = unit->version < 5 && unit->end - unit->offset < kLargestSkeleton;
    if (unit->unit_type != DW_UT_skeleton && !old) continue;
    const Attributes& root = pool.Open(*unit).root();
    if (!root.Has(Slot::kDwoName)) continue;
    skeletons.push_back({.unit = unit.get(),
                         .id = old ? root.Get(Slot::kDwoId) : unit->signature,
                         .file = root.Text(Slot::kDwoName),
                         .directory = root.Text(Slot::kCompilationDirectory),
                         .lines = root.Get(Slot::kStatementList)});
  }
  return skeletons;
}

DebugFile& AddFile(DebugInfo& info, const std::string& path) {
  info.files.push_back(std::make_unique<DebugFile>(ElfFile::Open(path), ".dwo"));
  ApplyPackageIndex(*info.files.back());
  info.AddUnits(*info.files.back());
  return *info.files.back();
}

std::uint64_t SplitId(UnitPool& pool, const Unit& unit) {
  return unit.version >= 5 ? unit.signature : pool.Open(unit).root().Get(Slot::kDwoId);
}

// Tells the split units which skeleton they belong to; the type units of a .dwo file follow its compile unit.
void Attach(UnitPool& pool, const DebugFile& file, const std::map<std::uint64_t, Skeleton>& by_id,
            bool package) {
  const Skeleton* current = nullptr;
  const auto attach = [&](Unit& unit) {
    unit.skeleton = current->unit;
    unit.skeleton_lines = current->lines;
    unit.skeleton_directory = current->directory;
  };
  for (const std::unique_ptr<Unit>& unit : file.units()) {
    if (unit->type_offset != 0) continue;
    const auto found = by_id.find(SplitId(pool, *unit));
    if (found == by_id.end()) continue;
    current = &found->second;
    attach(*unit);
  }
  for (const std::unique_ptr<Unit>& unit : file.units()) {
    if (unit->type_offset != 0 && current != nullptr && !package) attach(*unit);
  }
}

std::string FindSplitFile(const Skeleton& skeleton, const DebugFile& main) {
  namespace fs = std::filesystem;
  const std::string in_directory = std::string(skeleton.directory) + "/" + skeleton.file;
  const std::string name = fs::path(skeleton.file).filename().string();
  for (const std::string& candidate : {skeleton.file.starts_with('/') ? skeleton.file : in_directory,
                                       Beside(main.path(), skeleton.file), Beside(main.path(), name)}) {
    if (IsReadableFile(candidate)) return candidate;
  }
  throw Error("DebugInfoMissing",
              main.path() + ": keeps debug information in " + in_directory +
                  ", which cannot be found; keep the .dwo files where they were built, or put a "
                  ".dwp package beside the file");
}

// Columns of a package index that matter here.
struct IndexRow {
  std::uint64_t info = 0;
  std::uint64_t abbreviations = 0;
  std::uint64_t lines = 0;
  std::uint64_t string_offsets = 0;
  std::uint64_t location_lists = 0;
  std::uint64_t range_lists = 0;
};

std::vector<IndexRow> ReadIndex(Bytes section, bool little_endian) {
  constexpr std::uint32_t kInfo = 1, kTypes = 2, kAbbreviations = 3, kLines = 4;
  constexpr std::uint32_t kLocationLists = 5, kStringOffsets = 6, kRangeLists = 8;
  constexpr std::uint32_t kMostColumns = 16;
  ByteCursor cursor(section, little_endian);
  cursor.Skip(4);  // version: 2 bytes and padding, or 4 bytes before DWARF 5
  const std::uint32_t columns = cursor.U32();
  const std::uint32_t units = cursor.U32();
  const std::uint64_t slots = cursor.U32();
  cursor.Skip(slots * 12);  // the hash table: signatures, row numbers
  if (columns > kMostColumns || units > cursor.left()) throw Truncated();
  std::vector<std::uint32_t> kinds(columns);
  for (std::uint32_t& kind : kinds) kind = cursor.U32();
  std::vector<IndexRow> rows(units);
  for (IndexRow& row : rows) {
    for (const std::uint32_t kind : kinds) {
      const std::uint32_t offset = cursor.U32();
      if (kind == kInfo || kind == kTypes) row.info = offset;
      if (kind == kAbbreviations) row.abbreviations = offset;
      if (kind == kLines) row.lines = offset;
      if (kind == kStringOffsets) row.string_offsets = offset;
      if (kind == kLocationLists) row.location_lists = offset;
      if (kind == kRangeLists) row.range_lists = offset;
    }
  }
  return rows;
}

void ApplyIndex(DebugFile& package, Bytes section, bool type_units) {
  if (section.empty()) return;
  std::map<std::uint64_t, Unit*> by_offset;
  for (const std::unique_ptr<Unit>& unit : package.units()) {
    if ((unit->type_offset != 0) == type_units) by_offset[unit->offset] = unit.get();
  }
  for (const IndexRow& row : ReadIndex(section, package.little_endian())) {
    const auto found = by_offset.find(row.info);
    if (found == by_offset.end()) continue;
    found->second->abbreviations += row.abbreviations;
    found->second->line_tables = row.lines;
    found->second->string_offsets = row.string_offsets;
    found->second->location_lists = row.location_lists;
    found->second->range_lists = row.range_lists;
  }
}

}  // namespace

void ApplyPackageIndex(DebugFile& package) {
  try {
    ApplyIndex(package, package.elf().Section(".debug_cu_index"), false);
    ApplyIndex(package, package.elf().Section(".debug_tu_index"), true);
  } catch (const Truncated&) {
    throw Error("DebugInfoDamaged", package.path() +
                                        ": the unit index of the package (.debug_cu_index) is damaged; " +
                                        "pack it anew with dwp");
  }
}

bool NamesSplitUnits(const DebugInfo& info, const DebugFile& main) {
  UnitPool pool(info);
  return !FindSkeletons(pool, main).empty();
}

void AddSplitUnits(DebugInfo& info, DebugFile& main, const std::string& path) {
  UnitPool pool(info);
  std::map<std::uint64_t, Skeleton> by_id;
  for (const Skeleton& skeleton : FindSkeletons(pool, main)) by_id.emplace(skeleton.id, skeleton);
  if (by_id.empty()) return;
  for (const std::string& package : {path + ".dwp", main.path() + ".dwp"}) {
    if (!IsReadableFile(package)) continue;
    const DebugFile& file = AddFile(info, package);
    UnitPool split_pool(info);
    return Attach(split_pool, file, by_id, true);
  }
  std::map<std::string, bool> seen;  // several skeletons may name one file
  for (const auto& [id, skeleton] : by_id) {
    const std::string split = FindSplitFile(skeleton, main);
    if (!seen.emplace(split, true).second) continue;
    const DebugFile& file = AddFile(info, split);
    UnitPool split_pool(info);
    Attach(split_pool, file, by_id, false);
  }
}

}  // namespace linesmith
