// SPDX-License-Identifier: GPL-2.0-or-later
// The ways to debug information that look for no other file.
#include "debug_loader.h"
#include "error.h"
#include "split_dwarf.h"

namespace linesmith {
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
