// SPDX-License-Identifier: GPL-2.0-or-later
#include "layouts/dwarf_reader.h"

#include <memory>

#include "base/worker_crew.h"
#include "layouts/record_builder.h"
#include "layouts/record_scan.h"
#include "records/record_order.h"

namespace linesmith {
namespace {

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

// Returns the members that wait for a definition from another unit.
std::vector<OpenMember> BuildShare(RecordWorker& worker, const RecordSet& set, const UnitShare& share,
                                   TextBudget& budget, std::vector<Record>& records) {
  const Unit& unit = *worker.pool.info().units[set.variants()[share.first].unit];
  std::vector<OpenMember> open;
  try {
    UnitContext& context = worker.pool.Open(unit);
    RecordBuilder builder(worker.pool, worker.identity, set, budget);
    for (std::size_t id = share.first; id < share.last; ++id) {
      records[id] = builder.Build(context, static_cast<std::uint32_t>(id));
    }
    open = builder.open_members();
  } catch (const Truncated&) {
    ThrowDamagedUnit(unit);
  }
  worker.pool.Trim();
  return open;
}

std::vector<Record> BuildRecords(const RecordSet& set, const RecordCrew& crew) {
  std::vector<Record> records(set.variants().size());
  const std::vector<UnitShare> shares = SharesOf(set.variants());
  const DebugInfo& info = crew.front()->pool.info();
  TextBudget budget(info.files.front()->path(), info.bytes);
  std::vector<std::vector<OpenMember>> open(crew.size());
  RunJobs(static_cast<unsigned>(crew.size()), shares.size(), [&](unsigned worker, std::size_t index) {
    const std::vector<OpenMember> found = BuildShare(*crew[worker], set, shares[index], budget, records);
    open[worker].insert(open[worker].end(), found.begin(), found.end());
  });
  for (const std::vector<OpenMember>& members : open) LinkDeclarations(members, records);
  return records;
}

}  // namespace

std::vector<Record> ReadRecords(const DebugInfo& info, unsigned threads, const Progress& progress) {
  const auto scan = ScanRecords(info, WorkerCount(threads, info.units.size()), progress);
  std::vector<Record> records = BuildRecords(scan->set, scan->crew);
  InnermostFirst(info.files.front()->path(), records);  // throws where a record holds itself
  if (progress) progress(info.bytes, info.bytes);
  return records;
}

}  // namespace linesmith
