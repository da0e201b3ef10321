// SPDX-License-Identifier: GPL-2.0-or-later
// The records of a BTF blob in the form that both readers share.
#pragma once

#include <vector>

#include "btf_types.h"
#include "record.h"

namespace linesmith {

// Every struct and union of the blob itself, in its order, and behind them those of its base that they hold
// by value. Throws Error("DebugInfoDamaged") when a type breaks a rule of C or of BTF.
std::vector<Record> RecordsOf(const BtfTypes& types);

}  // namespace linesmith
