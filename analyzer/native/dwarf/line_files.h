// SPDX-License-Identifier: GPL-2.0-or-later
// The file table of a line number program (DWARF 5, 6.2.4); the program itself is never run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dwarf/debug_file.h"

namespace linesmith {

// One entry as the table stores it; strings point into their section.
struct LineFile {
  const char* name = "";
  std::uint64_t directory = 0;
};

class LineFiles {
 public:
  LineFiles() = default;
  // Entries in front of any damage are kept; a unit without readable files is still worth reading.
  LineFiles(const Unit& unit, std::uint64_t offset);

  std::size_t size() const { return files_.size(); }
  // Normalised path of entry `index` as DW_AT_decl_file counts, relative to `compilation_directory` where it
  // lies below it; "" when the table has no such entry.
  std::string Path(std::uint64_t index, const char* compilation_directory) const;
  // The directory that paths are relative to; type units only have that of the table.
  const char* Root(const char* compilation_directory) const;
  // The strings Path() is made of: equal triples give equal paths.
  const char* Name(std::uint64_t index) const;
  const char* Directory(std::uint64_t index) const;

 private:
  void Read(const Unit& unit, std::uint64_t offset);

  std::vector<const char*> directories_;
  std::vector<LineFile> files_;  // indexed as DW_AT_decl_file counts
};

}  // namespace linesmith
