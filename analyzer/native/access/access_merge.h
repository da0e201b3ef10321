// SPDX-License-Identifier: GPL-2.0-or-later
// From the rows of several workers to the columns of one map, in an order that does not depend on the
// workers.
#pragma once

#include <vector>

#include "access/access_map.h"
#include "access/access_rows.h"
#include "records/record_set.h"
#include "types/type_graph.h"

namespace linesmith {

// One worker's result.
struct WorkerRows {
  const AccessRows* rows = nullptr;
  const RowTable* table = nullptr;  // of the rows
  TypeGraph* graph = nullptr;
  UnitPool* pool = nullptr;
};

// Functions that several workers met count once, as the first unit describes them.
AccessMap MergeRows(const std::vector<WorkerRows>& workers, const RecordSet& records);

}  // namespace linesmith
