// SPDX-License-Identifier: GPL-2.0-or-later
#include "debug_loader.h"

#include "debug_search.h"
#include "error.h"
#include "split_dwarf.h"

namespace linesmith {
namespace {

bool HasDwarf(const ElfFile& elf) {
  for (const char* name : {".debug_info", ".zdebug_info", ".debug_info.dwo"}) {
    if (elf.Find(name) != nullptr) return true;
  }
  return false;
}

std::string_view SuffixOf(const ElfFile& elf) {
  const bool split_only = elf.Find(".debug_info") == nullptr && elf.Find(".debug_info.dwo") != nullptr;
  return split_only ? ".dwo" : "";
}

[[noreturn]] void ThrowExternal(const std::string& path) {
  throw Error("DebugInfoMissing",
              path +
                  ": the object refers to debug information in another file, which is not "
                  "read for code under review; build it without -gsplit-dwarf and dwz");
}

ElfFile OpenWithDwarf(const std::string& path, const std::vector<std::string>& directories) {
  ElfFile elf = ElfFile::Open(path);
  if (HasDwarf(elf)) return elf;
  if (const std::optional<std::string> found = FindDebugFile(elf, directories)) {
    ElfFile debug = ElfFile::Open(*found);
    if (HasDwarf(debug)) return debug;
  }
  throw Error(
      "DebugInfoMissing",
      path +
          ": holds no DWARF, and no debug file with its build-id was found; build it with -g, or install "
          "its debug package");
}

DebugFile& AddFile(DebugInfo& info, ElfFile elf) {
  const std::string_view suffix = SuffixOf(elf);
  info.files.push_back(std::make_unique<DebugFile>(std::move(elf), suffix));
  return *info.files.back();
}

// The file alone. One without DWARF of its own would be followed by its build-id or .gnu_debuglink.
std::unique_ptr<DebugInfo> LoadAlone(const std::string& path) {
  ElfFile elf = ElfFile::Open(path);
  for (const char* name : {".gnu_debugaltlink", ".debug_sup"}) {
    if (elf.Find(name) != nullptr) ThrowExternal(path);
  }
  if (!HasDwarf(elf) && elf.Find(".gnu_debuglink") != nullptr) ThrowExternal(path);
  if (!HasDwarf(elf)) throw Error("DebugInfoMissing", path + ": holds no DWARF; build it with -g");
  auto info = std::make_unique<DebugInfo>();
  const DebugFile& main = AddFile(*info, std::move(elf));
  info->Add(main);
  if (NamesSplitUnits(*info, main)) ThrowExternal(path);
  return info;
}

}  // namespace

std::unique_ptr<DebugInfo> LoadDebugInfo(const std::string& path, const std::vector<std::string>& directories,
                                         ExternalFiles external) {
  if (external == ExternalFiles::kRefuse) return LoadAlone(path);
  auto info = std::make_unique<DebugInfo>();
  DebugFile& main = AddFile(*info, OpenWithDwarf(path, directories));
  info->Add(main);
  if (const std::optional<std::string> supplement = FindSupplement(main.elf(), directories)) {
    DebugFile& shared = AddFile(*info, ElfFile::Open(*supplement));
    info->Add(shared);
    main.supplement = &shared;
  }
  AddSplitUnits(*info, main, path);
  return info;
}

std::unique_ptr<DebugInfo> LoadDebugImage(const std::string& name, Bytes image) {
  auto info = std::make_unique<DebugInfo>();
  info->Add(AddFile(*info, ElfFile::FromMemory(name, image)));
  return info;
}

}  // namespace linesmith
