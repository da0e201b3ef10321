// SPDX-License-Identifier: GPL-2.0-or-later
// Finding the files that hold the debug information of another file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elf/elf_file.h"

namespace linesmith {

// The separate debug file of `elf`, as libdwfl finds it: by build-id below each directory, by .gnu_debuglink
// beside the file, in its .debug directory and below each directory, and at the servers that the user names
// in DEBUGINFOD_URLS. A file is taken only when its build-id (or checksum) agrees.
std::optional<std::string> FindDebugFile(const ElfFile& elf, const std::vector<std::string>& directories);

// The dwz file that .gnu_debugaltlink (or DWARF 5's .debug_sup) of `elf` names, at that place, below each
// directory or in the unpacked debug package that `elf` is of; nothing when it has no such section. Throws
// Error("DebugInfoMissing") when it names a file that cannot be found.
std::optional<std::string> FindSupplement(ElfFile& elf, const std::vector<std::string>& directories);

// `path` when it is absolute, else `path` below the directory of `origin`.
std::string Beside(const std::string& origin, const std::string& path);

bool IsReadableFile(const std::string& path);

}  // namespace linesmith
