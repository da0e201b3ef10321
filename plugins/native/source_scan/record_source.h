// SPDX-License-Identifier: GPL-2.0-or-later
// Where a record and its members stand in the source.
#pragma once

#include "collector.h"

namespace linesmith {

RecordFact SourceOf(const clang::RecordDecl& record, Collector& collector);

}  // namespace linesmith
