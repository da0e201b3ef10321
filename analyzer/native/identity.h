// SPDX-License-Identifier: GPL-2.0-or-later
// What a file is, from its headers alone: model.ElfIdentity.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace linesmith {

struct FileIdentity {
  std::string path;
  std::string build_id;  // empty: none
  std::string machine;
  std::string kind;  // ET_EXEC, ET_DYN, ET_REL, ET_CORE or BTF
  bool little_endian = true;
  unsigned address_bytes = 8;
  bool has_dwarf = false;  // in the file or in its debug file
  bool has_btf = false;
  std::optional<std::string> debug_path;  // the separate file that holds the DWARF
};

// Throws Error("ElfError") when the file is neither ELF nor raw BTF.
FileIdentity Identify(const std::string& path, const std::vector<std::string>& debug_directories);

// What compiled this library, such as "GCC 12.2.0".
std::string CompilerVersion();

// The releases of the libraries that are loaded now; they may be later than those it was built with.
std::string LibdwVersion();
std::string CapstoneVersion();

}  // namespace linesmith
