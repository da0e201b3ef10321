// SPDX-License-Identifier: GPL-2.0-or-later
// All records of a file's DWARF, read by several workers and put in an order that does not depend on them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dwarf/unit_pool.h"
#include "records/record.h"

namespace linesmith {

// Called now and then on the calling thread with (bytes done, bytes in all); an exception stops the reading.
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

// Records by id. Throws Error("DebugInfoDamaged").
std::vector<Record> ReadRecords(const DebugInfo& info, unsigned threads, const Progress& progress);

}  // namespace linesmith
