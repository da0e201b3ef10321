// SPDX-License-Identifier: GPL-2.0-or-later
// Variables with static storage as DWARF describes them: where each lies and what it is made of.
#pragma once

#include <vector>

#include "access/access_map.h"
#include "access/program_index.h"
#include "records/record_set.h"

namespace linesmith {

// One for each address that has a variable, by ascending address, those of threads behind the others.
std::vector<StaticVariable> StaticVariables(const ProgramIndex& index, TypeGraph& graph,
                                            const RecordSet& records);

}  // namespace linesmith
