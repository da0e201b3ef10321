// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf_reader.h"

#include <atomic>
#include <map>
#include <memory>
#include <utility>

#include "record_builder.h"
#include "record_set.h"
#include "type_identity.h"
#include "worker_crew.h"

namespace linesmith {
namespace {

// A typedef seen in one unit that names an anonymous record of another.
struct NameGiven {
  std::pair<std::uint32_t, std::uint64_t> record;
  std::uint32_t unit = 0;  // that gives the name; the first one counts
  std::string name;
};

// What one worker keeps between units.
struct Worker {
  explicit Worker(const DebugInfo& info) : pool(info), identity(pool) {}

  UnitPool pool;
  TypeIdentity identity;
  VariantTable table;
  std::vector<NameGiven> names_given;
  std::vector<OpenMember> open_members;
};

using Crew = std::vector<std::unique_ptr<Worker>>;

Crew HireCrew(const DebugInfo& info, unsigned count) {
  Crew crew;
  for (unsigned i = 0; i < count; ++i) crew.push_back(std::make_unique<Worker>(info));
  return crew;
}

void NoteForeignTypedefs(Worker& worker, UnitContext& context) {
  for (const ForeignTypedef& alias : context.foreign_typedefs()) {
    const DieRef record = worker.pool.Follow(context, alias.target);
    if (!record) continue;
    const Abbreviation& abbreviation = *record.unit->HeadAt(record.offset).abbreviation;
    if (!IsRecordTag(abbreviation.tag) || abbreviation.Has(Slot::kName)) continue;
    worker.names_given.push_back(
        {{record.unit->unit().index, record.offset}, context.unit().index, alias.name});
  }
}

void ScanUnit(Worker& worker, const Unit& unit) {
  try {
    UnitContext& context = worker.pool.Open(unit);
    NoteForeignTypedefs(worker, context);
    for (const RecordDie& record : context.records()) {
      worker.table.Add(worker.identity.OfRecord(context, record.offset), unit.index, record.offset);
    }
  } catch (const Truncated&) {
    ThrowDamagedUnit(unit);
  }
  worker.pool.Trim();
}

// Consecutive variants that were first seen in one unit.
struct UnitShare {
  std::size_t first = 0;
  std::size_t last = 0;
};

std::vector<UnitShare> SharesOf(const std::vector<Variant>& variants) {
  std::vector<UnitShare> shares;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (i == 0 || variants[i].unit != variants[i - 1].unit) shares.push_back({i, i});
    shares.back().last = i + 1;
  }
  return shares;
}

void BuildShare(Worker& worker, const RecordSet& set, const UnitShare& share, TextBudget& budget,
                std::vector<Record>& records) {
  const Unit& unit = *worker.pool.info().units[set.variants()[share.first].unit];
  try {
    UnitContext& context = worker.pool.Open(unit);
    RecordBuilder builder(worker.pool, worker.identity, set, budget);
    for (std::size_t id = share.first; id < share.last; ++id) {
      records[id] = builder.Build(context, static_cast<std::uint32_t>(id));
    }
    const std::vector<OpenMember>& open = builder.open_members();
    worker.open_members.insert(worker.open_members.end(), open.begin(), open.end());
  } catch (const Truncated&) {
    ThrowDamagedUnit(unit);
  }
  worker.pool.Trim();
}

ForeignNames NamesGiven(const Crew& crew) {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> givers;
  ForeignNames names;
  for (const std::unique_ptr<Worker>& worker : crew) {
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
RecordSet ScanUnits(const DebugInfo& info, const Crew& crew, const Progress& progress) {
  const auto count = static_cast<unsigned>(crew.size());
  std::atomic<std::uint64_t> done{0};
  RunJobs(count, info.units.size(), [&](unsigned worker, std::size_t index) {
    const Unit& unit = *info.units[index];
    ScanUnit(*crew[worker], unit);
    done += unit.end - unit.offset;
    if (worker == 0 && progress) progress(done, info.bytes);
  });
  std::vector<VariantTable> tables;
  for (const std::unique_ptr<Worker>& worker : crew)
    tables.push_back(std::exchange(worker->table, VariantTable()));
  return RecordSet(tables);
}

std::vector<Record> BuildRecords(const RecordSet& set, const Crew& crew) {
  std::vector<Record> records(set.variants().size());
  const std::vector<UnitShare> shares = SharesOf(set.variants());
  const DebugInfo& info = crew.front()->pool.info();
  TextBudget budget(info.files.front()->path(), info.bytes);
  RunJobs(static_cast<unsigned>(crew.size()), shares.size(), [&](unsigned worker, std::size_t index) {
    BuildShare(*crew[worker], set, shares[index], budget, records);
  });
  for (const std::unique_ptr<Worker>& worker : crew) LinkDeclarations(worker->open_members, records);
  return records;
}

}  // namespace

std::vector<Record> ReadRecords(const DebugInfo& info, unsigned threads, const Progress& progress) {
  const Crew crew = HireCrew(info, WorkerCount(threads, info.units.size()));
  RecordSet set = ScanUnits(info, crew, progress);
  // A name given from another unit is part of the record's identity: scan again now that the names are known.
  const ForeignNames names = NamesGiven(crew);
  if (!names.empty()) {
    for (const std::unique_ptr<Worker>& worker : crew) worker->pool.Restart(names);
    set = ScanUnits(info, crew, {});
  }
  std::vector<Record> records = BuildRecords(set, crew);
  if (progress) progress(info.bytes, info.bytes);
  return records;
}

}  // namespace linesmith
