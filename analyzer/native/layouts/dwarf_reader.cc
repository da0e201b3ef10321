// SPDX-License-Identifier: GPL-2.0-or-later
#include "layouts/dwarf_reader.h"

#include <algorithm>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/worker_crew.h"
#include "layouts/record_builder.h"
#include "layouts/record_scan.h"
#include "records/record_order.h"

namespace linesmith {
namespace {

// Builds each layout as the first unit that has it shows it, while that unit is open.
class RecordBuilding : public LayoutVisitor {
 public:
  explicit RecordBuilding(const DebugInfo& info) : budget_(info.files.front()->path(), info.bytes) {}

  void Begin() override { places_.clear(); }
  void Meet(RecordWorker& worker, UnitContext& unit, std::vector<NewLayout> layouts) override {
    Claim(unit.unit().index, layouts);
    RecordBuilder builder(worker.pool, worker.identity, budget_);
    for (const NewLayout& layout : layouts) {
      BuiltRecord built = builder.Build(unit, layout.offset);
      const std::scoped_lock lock(lock_);
      Place& place = places_[layout.identity];
      if (place.unit == unit.unit().index) place.built = std::move(built);
    }
  }
  BuiltRecord Take(std::uint64_t identity) { return std::move(places_[identity].built); }

 private:
  struct Place {
    std::uint32_t unit = 0;
    BuiltRecord built;
  };

  // Leaves what no lower unit has, as far as known; workers are so close together that little is built twice.
  void Claim(std::uint32_t unit, std::vector<NewLayout>& layouts) {
    const std::scoped_lock lock(lock_);
    std::erase_if(layouts, [&](const NewLayout& layout) {
      const auto [place, fresh] = places_.try_emplace(layout.identity);
      const bool wanted = fresh || place->second.unit > unit;
      if (wanted) place->second.unit = unit;
      return !wanted;
    });
  }

  TextBudget budget_;
  std::mutex lock_;
  std::unordered_map<std::uint64_t, Place> places_;
};

// A member whose record is only declared in its unit, by the qualified name of that.
struct OpenMember {
  std::uint32_t owner = 0;
  std::uint32_t member = 0;
  std::string name;
};

std::unordered_map<std::string_view, std::uint32_t> MostUsedByName(const std::vector<Record>& records) {
  std::unordered_map<std::string_view, std::uint32_t> by_name;
  for (std::uint32_t id = 0; id < records.size(); ++id) {
    const auto [found, fresh] = by_name.try_emplace(records[id].name, id);
    if (!fresh && records[id].units > records[found->second].units) found->second = id;
  }
  return by_name;
}

// Sets the record, size and natural alignment of each open member from the definition that most units use;
// what no unit defines stays as it is.
void LinkDeclarations(const std::vector<OpenMember>& open, std::vector<Record>& records) {
  if (open.empty()) return;
  const auto by_name = MostUsedByName(records);
  for (const OpenMember& place : open) {
    const auto found = by_name.find(place.name);
    if (place.name.empty() || found == by_name.end()) continue;
    const Record& definition = records[found->second];
    Member& member = records[place.owner].members[place.member];
    std::uint64_t size = definition.size;
    for (const std::uint64_t count : member.dimensions) {
      if (__builtin_mul_overflow(size, count, &size)) size = 0;
    }
    // Another record of that name is meant when this one does not fit.
    const Record& owner = records[place.owner];
    if (member.offset > owner.size || size > owner.size - member.offset) continue;
    member.record = found->second;
    member.size = size;
    member.natural_alignment =
        std::max({member.natural_alignment, definition.natural_alignment, definition.alignment.value_or(1)});
  }
}

// The records by id, each member with the id of the record that it holds.
std::vector<Record> Collected(RecordBuilding& building, const RecordSet& set) {
  std::vector<Record> records;
  records.reserve(set.variants().size());
  std::vector<OpenMember> open;
  for (std::uint32_t id = 0; id < set.variants().size(); ++id) {
    const Variant& variant = set.variants()[id];
    BuiltRecord built = building.Take(variant.identity);
    built.record.units = variant.units;
    for (HeldRecord& held : built.held) {
      const std::int64_t inner = set.IdOf(held.identity);
      if (inner >= 0) {
        built.record.members[held.member].record = static_cast<std::uint32_t>(inner);
      } else {
        open.push_back({id, held.member, std::move(held.name)});
      }
    }
    records.push_back(std::move(built.record));
  }
  LinkDeclarations(open, records);
  return records;
}

}  // namespace

std::vector<Record> ReadRecords(const DebugInfo& info, unsigned threads, const Progress& progress) {
  RecordBuilding building(info);
  const auto scan = ScanRecords(info, WorkerCount(threads, info.units.size()), progress, &building);
  std::vector<Record> records = Collected(building, scan->set);
  InnermostFirst(info.files.front()->path(), records);  // throws where a record holds itself
  if (progress) progress(info.bytes, info.bytes);
  return records;
}

}  // namespace linesmith
