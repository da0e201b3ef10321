// SPDX-License-Identifier: GPL-2.0-or-later
// From a path to every unit that belongs to it: the file or its debug file, split units, the dwz supplement.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "unit_pool.h"

namespace linesmith {

// What becomes of debug information that lies in another file than the one that is read. kRefuse is for files
// made of text that nobody has reviewed, which can name any file: none is opened or looked for, and what is
// said does not depend on whether there is one.
enum class ExternalFiles : std::uint8_t { kFollow, kRefuse };

// Throws Error: ElfError, DebugInfoMissing (no DWARF, or a split or supplementary file that is named is not
// there or refused) or DebugInfoDamaged.
std::unique_ptr<DebugInfo> LoadDebugInfo(const std::string& path, const std::vector<std::string>& directories,
                                         ExternalFiles external = ExternalFiles::kFollow);

// The DWARF inside one image in memory; other files are not looked for.
std::unique_ptr<DebugInfo> LoadDebugImage(const std::string& name, Bytes image);

}  // namespace linesmith
