// SPDX-License-Identifier: GPL-2.0-or-later
// The first pass over all units: every record once, with the id that it has for all later passes.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dwarf/unit_pool.h"
#include "layouts/dwarf_reader.h"
#include "layouts/type_identity.h"
#include "records/record_set.h"

namespace linesmith {

// A typedef seen in one unit that names an anonymous record of another.
struct NameGiven {
  std::pair<std::uint32_t, std::uint64_t> record;
  std::uint32_t unit = 0;  // that gives the name; the first one counts
  std::string name;
};

// What one worker keeps between units.
struct RecordWorker {
  explicit RecordWorker(const DebugInfo& info)
      : pool(info), keys(pool, NamesBy::kAddress), identity(pool, keys, table) {}

  UnitPool pool;
  VariantTable table;
  TypeIdentity keys;
  TypeIdentity identity;
  std::vector<NameGiven> names_given;
};

using RecordCrew = std::vector<std::unique_ptr<RecordWorker>>;

// A record of an open unit whose layout its worker has not met before.
struct NewLayout {
  std::uint64_t identity = 0;
  std::uint64_t offset = 0;
};

// Told of new layouts while their units are open, by several workers at once.
class LayoutVisitor {
 public:
  virtual ~LayoutVisitor() = default;
  // A scan begins; what was told before does not count.
  virtual void Begin() = 0;
  // May throw Truncated. Units come in ascending order from each worker.
  virtual void Meet(RecordWorker& worker, UnitContext& unit, std::vector<NewLayout> layouts) = 0;
};

struct RecordScan {
  RecordCrew crew;
  ForeignNames names;  // known to the pools of the crew, and to be known to every other pool
  RecordSet set{{}};
};

// Scans with `workers` threads. The result stays where it is: pools point into it. Throws
// Error("DebugInfoDamaged").
std::unique_ptr<RecordScan> ScanRecords(const DebugInfo& info, unsigned workers, const Progress& progress,
                                        LayoutVisitor* visitor = nullptr);

}  // namespace linesmith
