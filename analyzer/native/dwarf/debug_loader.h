// SPDX-License-Identifier: GPL-2.0-or-later
// From a path to every unit that belongs to it: the file or its debug file, split units, the dwz supplement.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dwarf/unit_pool.h"

namespace linesmith {

// Throws Error: ElfError, DebugInfoMissing (no DWARF, or a split or supplementary file that is named is not
// there) or DebugInfoDamaged.
std::unique_ptr<DebugInfo> LoadDebugInfo(const std::string& path,
                                         const std::vector<std::string>& directories);

// For files made of text that nobody has reviewed, which can name any file: no other file is opened or looked
// for, and what is said does not depend on whether there is one. Throws likewise.
std::unique_ptr<DebugInfo> LoadSingleFile(const std::string& path);

// The DWARF inside one image in memory; other files are not looked for.
std::unique_ptr<DebugInfo> LoadDebugImage(const std::string& name, Bytes image);

}  // namespace linesmith
