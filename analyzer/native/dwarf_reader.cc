// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf_reader.h"

#include <atomic>
#include <map>
#include <memory>

#include "record_builder.h"
#include "record_set.h"
#include "type_identity.h"
#include "worker_crew.h"

namespace linesmith {
namespace {

// What one worker keeps between units.
struct Worker {
  explicit Worker(const DebugInfo& info) : pool(info), identity(pool) {}

  UnitPool pool;
  TypeIdentity identity;
  VariantTable table;
  std::vector<OpenMember> open_members;
};

using Crew = std::vector<std::unique_ptr<Worker>>;

Crew HireCrew(const DebugInfo& info, unsigned count) {
  Crew crew;
  for (unsigned i = 0; i < count; ++i) crew.push_back(std::make_unique<Worker>(info));
  return crew;
}

void ScanUnit(Worker& worker, const Unit& unit) {
  try {
    UnitContext& context = worker.pool.Open(unit);
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

void BuildShare(Worker& worker, const RecordSet& set, const UnitShare& share, std::vector<Record>& records) {
  const Unit& unit = *worker.pool.info().units[set.variants()[share.first].unit];
  try {
    UnitContext& context = worker.pool.Open(unit);
    RecordBuilder builder(worker.pool, worker.identity, set);
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

}  // namespace

std::vector<Record> ReadRecords(const DebugInfo& info, unsigned threads, const Progress& progress) {
  const unsigned count = WorkerCount(threads, info.units.size());
  Crew crew = HireCrew(info, count);
  std::atomic<std::uint64_t> done{0};
  RunJobs(count, info.units.size(), [&](unsigned worker, std::size_t index) {
    const Unit& unit = *info.units[index];
    ScanUnit(*crew[worker], unit);
    done += unit.end - unit.offset;
    if (worker == 0 && progress) progress(done, info.bytes);
  });
  std::vector<VariantTable> tables;
  for (const std::unique_ptr<Worker>& worker : crew) tables.push_back(std::move(worker->table));
  const RecordSet set(tables);
  std::vector<Record> records(set.variants().size());
  const std::vector<UnitShare> shares = SharesOf(set.variants());
  RunJobs(count, shares.size(), [&](unsigned worker, std::size_t index) {
    BuildShare(*crew[worker], set, shares[index], records);
  });
  for (const std::unique_ptr<Worker>& worker : crew) LinkDeclarations(worker->open_members, records);
  if (progress) progress(info.bytes, info.bytes);
  return records;
}

}  // namespace linesmith
