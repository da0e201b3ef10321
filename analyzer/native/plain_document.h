// SPDX-License-Identifier: GPL-2.0-or-later
// A quick look at a MessagePack document of another linesmith.
#pragma once

#include <string_view>

namespace linesmith {

// Whether every number in the document lies between 0 and 2^64 - 1 and every text is of printable ASCII
// characters. False for what is cut off, and where there are values of other kinds than a profile has.
bool IsPlain(std::string_view document);

}  // namespace linesmith
