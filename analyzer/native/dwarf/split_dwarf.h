// SPDX-License-Identifier: GPL-2.0-or-later
// Split DWARF (DWARF 5, 7.3.2): units whose bodies lie in .dwo files or in one .dwp package.
#pragma once

#include <string>
#include <vector>

#include "dwarf/unit_pool.h"

namespace linesmith {

// Adds the files that the skeleton units of `main` name to `info`. `path` is the file the user named: a
// package stands beside it. Throws Error("DebugInfoMissing") for a .dwo file that is not where the unit says.
void AddSplitUnits(DebugInfo& info, DebugFile& main, const std::string& path);

// Whether a skeleton unit of `main` names a .dwo file; no file is looked for.
bool NamesSplitUnits(const DebugInfo& info, const DebugFile& main);

// Gives each unit of a package its own part of the package's sections (DWARF 5, 7.3.5); a file without an
// index is left as it is. Throws Error("DebugInfoDamaged").
void ApplyPackageIndex(DebugFile& package);

}  // namespace linesmith
