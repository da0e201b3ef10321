// SPDX-License-Identifier: GPL-2.0-or-later
#include "layouts/record_scan.h"

#include <atomic>
#include <map>

#include "base/worker_crew.h"
#include "layouts/type_chain.h"

namespace linesmith {
namespace {

RecordCrew HireCrew(const DebugInfo& info, unsigned count) {
  RecordCrew crew;
  for (unsigned i = 0; i < count; ++i) crew.push_back(std::make_unique<RecordWorker>(info));
  return crew;
}

void NoteForeignTypedefs(RecordWorker& worker, UnitContext& context) {
  for (const ForeignTypedef& alias : context.foreign_typedefs()) {
    const DieRef record = worker.pool.Follow(context, alias.target);
    if (!record) continue;
    const Abbreviation& abbreviation = *record.unit->HeadAt(record.offset).abbreviation;
    if (!IsRecordTag(abbreviation.tag) || abbreviation.Has(Slot::kName)) continue;
    worker.names_given.push_back(
        {{record.unit->unit().index, record.offset}, context.unit().index, alias.name});
  }
}

void ScanUnit(RecordWorker& worker, const Unit& unit, LayoutVisitor* visitor) {
  try {
    UnitContext& context = worker.pool.Open(unit);
    NoteForeignTypedefs(worker, context);
    std::vector<NewLayout> fresh;
    for (const RecordDie& record : context.records()) {
      const std::uint64_t key = worker.keys.OfRecord(context, record.offset);
      if (Variant* known = worker.table.Find(key)) {
        known->Count(unit.index);
        continue;
      }
      const std::uint64_t identity = worker.identity.OfRecord(context, record.offset);
      if (worker.table.Add(key, identity, unit.index, record.offset))
        fresh.push_back({identity, record.offset});
    }
    if (visitor != nullptr) visitor->Meet(worker, context, std::move(fresh));
  } catch (const Truncated&) {
    ThrowDamagedUnit(unit);
  }
  worker.pool.Trim();
}

ForeignNames NamesGiven(const RecordCrew& crew) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> givers;
  ForeignNames names;
  for (const std::unique_ptr<RecordWorker>& worker : crew) {
    for (const NameGiven& given : worker->names_given) {
      const auto [giver, fresh] = givers.try_emplace(given.record, given.unit);
      if (!fresh && giver->second <= given.unit) continue;
      giver->second = given.unit;
      names[given.record] = given.name;
    }
  }
  return names;
}

// Every record of every unit, each layout once.
RecordSet ScanUnits(const DebugInfo& info, const RecordCrew& crew, const Progress& progress,
                    LayoutVisitor* visitor) {
  if (visitor != nullptr) visitor->Begin();
  const auto count = static_cast<unsigned>(crew.size());
  std::atomic<std::uint64_t> done{0};
  RunJobs(count, info.units.size(), [&](unsigned worker, std::size_t index) {
    const Unit& unit = *info.units[index];
    ScanUnit(*crew[worker], unit, visitor);
    done += unit.end - unit.offset;
    if (worker == 0 && progress) progress(done, info.bytes);
  });
  std::vector<VariantTable> tables;
  for (const std::unique_ptr<RecordWorker>& worker : crew)
    tables.push_back(std::exchange(worker->table, VariantTable()));
  return RecordSet(tables);
}

}  // namespace

std::unique_ptr<RecordScan> ScanRecords(const DebugInfo& info, unsigned workers, const Progress& progress,
                                        LayoutVisitor* visitor) {
  auto scan = std::make_unique<RecordScan>();
  scan->crew = HireCrew(info, workers);
  scan->set = ScanUnits(info, scan->crew, progress, visitor);
  // A name given from another unit is part of the record's identity: scan again now that the names are known.
  scan->names = NamesGiven(scan->crew);
  if (scan->names.empty()) return scan;
  for (const std::unique_ptr<RecordWorker>& worker : scan->crew) worker->pool.Restart(scan->names);
  scan->set = ScanUnits(info, scan->crew, {}, visitor);
  return scan;
}

}  // namespace linesmith
