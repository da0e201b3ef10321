// SPDX-License-Identifier: GPL-2.0-or-later
// The order in which records hold each other by value. No record holds itself: such a one would have no size,
// and whoever enters its members would not end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/record.h"

namespace linesmith {

// The ids of all records, each behind those that its members are of. Throws Error("DebugInfoDamaged") when a
// record is among its own members, or among those of its members and so on; `place` names the file. Takes
// time linear in the members.
std::vector<std::uint32_t> InnermostFirst(const std::string& place, const std::vector<Record>& records);

}  // namespace linesmith
