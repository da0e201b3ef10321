// SPDX-License-Identifier: GPL-2.0-or-later
// Members whose record is only declared in their unit, tied by name to the definition in another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record.h"

namespace linesmith {

// Member `member` of record `owner` holds a record `name` (qualified) by value that its unit does not define.
struct OpenMember {
  std::uint32_t owner = 0;
  std::uint32_t member = 0;
  std::string name;
};

// Sets the record, size and natural alignment of each open member from the definition that most units use;
// what no unit defines stays as it is.
void LinkDeclarations(const std::vector<OpenMember>& open, std::vector<Record>& records);

}  // namespace linesmith
