// SPDX-License-Identifier: GPL-2.0-or-later
#include "touched.h"
namespace linesmith {
std::vector<Touched> ReadTouched(const DebugInfo&, const FunctionFilter&, unsigned) { return {}; }
}  // namespace linesmith
