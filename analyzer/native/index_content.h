// SPDX-License-Identifier: GPL-2.0-or-later
// What the index keeps of the records of a file: their JSON, who is called what, and a digest of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "records/record.h"

namespace linesmith {

// The records of one name; those that most units use come first.
struct NamedRecords {
  std::string name;
  std::vector<std::uint32_t> ids;
};

struct IndexContent {
  std::vector<NamedRecords> names;  // in the order of their first ids; anonymous records have none
  std::string documents;            // LayoutJson() of all records, by id
  std::vector<std::uint64_t> ends;  // where each document ends
  std::string digests;              // Blake2b::kDigestBytes for each record, by id
};

// Records of two files with equal digests have the same layout: kind, size and alignment, and of each member
// name, type, place and alignment. Anonymous records count for those that hold them; of named ones only the
// size does. What changes from build to build without moving a byte is left out: ids, lines, files, compile
// units.
//
// With `threads` threads; what comes out does not depend on their number.
IndexContent ContentOf(const std::vector<Record>& records, unsigned threads);

}  // namespace linesmith
