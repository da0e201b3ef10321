// SPDX-License-Identifier: GPL-2.0-or-later
// From a path to every unit that belongs to it: the file or its debug file, split units, the dwz supplement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "unit_pool.h"

namespace linesmith {

// Throws Error: ElfError, DebugInfoMissing (no DWARF, or a named split or supplementary file is not there) or
// DebugInfoDamaged.
std::unique_ptr<DebugInfo> LoadDebugInfo(const std::string& path,
                                         const std::vector<std::string>& directories);

// The DWARF inside one image in memory; other files are not looked for.
std::unique_ptr<DebugInfo> LoadDebugImage(const std::string& name, Bytes image);

}  // namespace linesmith
