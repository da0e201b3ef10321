// SPDX-License-Identifier: GPL-2.0-or-later
// No record holds itself by value: such a one would have no size, and whoever enters its members would not
// end.
#pragma once

#include <string>
#include <vector>

#include "record.h"

namespace linesmith {

// Throws Error("DebugInfoDamaged") when a record is among its own members, or among those of its members and
// so on. `place` names the file, and the section where that is known. Takes time linear in the members.
void RefuseCycles(const std::string& place, const std::vector<Record>& records);

}  // namespace linesmith
