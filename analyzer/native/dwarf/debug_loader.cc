// SPDX-License-Identifier: GPL-2.0-or-later

#include "dwarf/debug_loader.h"

#include "base/error.h"
#include "dwarf/split_dwarf.h"
#include "elf/debug_search.h"

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

namespace {

[[noreturn]] void ThrowExternal(const std::string& path) {
  throw Error("DebugInfoMissing",
              path +
                  ": the object refers to debug information in another file, which is not "
                  "read for code under review; build it without -gsplit-dwarf and dwz");
}

}  // namespace

// One without DWARF of its own would be followed by its build-id or .gnu_debuglink.
std::unique_ptr<DebugInfo> LoadSingleFile(const std::string& path) {
  ElfFile elf = ElfFile::Open(path);
  for (const char* name : {".gnu_debugaltlink", ".debug_sup"}) {
    if (elf.Find(name) != nullptr) ThrowExternal(path);
  }
  if (!elf.HasDwarf() && elf.Find(".gnu_debuglink") != nullptr) ThrowExternal(path);
  if (!elf.HasDwarf()) throw Error("DebugInfoMissing", path + ": holds no DWARF; build it with -g");
  auto info = std::make_unique<DebugInfo>();
  const DebugFile& main = info->Add(std::move(elf));
  if (NamesSplitUnits(*info, main)) ThrowExternal(path);
  return info;
}

std::unique_ptr<DebugInfo> LoadDebugImage(const std::string& name, Bytes image) {
  auto info = std::make_unique<DebugInfo>();
  info->Add(ElfFile::FromMemory(name, image));
  return info;
}

}  // namespace linesmith
