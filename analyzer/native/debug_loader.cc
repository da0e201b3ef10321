// SPDX-License-Identifier: GPL-2.0-or-later
#include "debug_loader.h"

#include "debug_search.h"
#include "error.h"
#include "split_dwarf.h"

namespace linesmith {
namespace {

ElfFile OpenWithDwarf(const std::string& path, const std::vector<std::string>& directories) {
  ElfFile elf = ElfFile::Open(path);
  if (elf.HasDwarf()) return elf;
  if (const std::optional<std::string> found = FindDebugFile(elf, directories)) {
    ElfFile debug = ElfFile::Open(*found);
    if (debug.HasDwarf()) return debug;
  }
  throw Error(
      "DebugInfoMissing",
      path +
          ": holds no DWARF, and no debug file with its build-id was found; build it with -g, or install "
          "its debug package");
}

}  // namespace

std::unique_ptr<DebugInfo> LoadDebugInfo(const std::string& path,
                                         const std::vector<std::string>& directories) {
  auto info = std::make_unique<DebugInfo>();
  DebugFile& main = info->Add(OpenWithDwarf(path, directories));
  if (const std::optional<std::string> supplement = FindSupplement(main.elf(), directories)) {
    main.supplement = &info->Add(ElfFile::Open(*supplement));
  }
  AddSplitUnits(*info, main, path);
  return info;
}

}  // namespace linesmith
