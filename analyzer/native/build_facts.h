// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <string>

namespace linesmith {

// What compiled this library, such as "GCC 12.2.0".
std::string CompilerVersion();

// The releases of the libraries that are loaded now; they may be later than those it was built with.
std::string LibdwVersion();
std::string CapstoneVersion();

}  // namespace linesmith
