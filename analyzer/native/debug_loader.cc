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

}  // namespace

std::unique_ptr<DebugInfo> LoadDebugInfo(const std::string& path,
                                         const std::vector<std::string>& directories) {
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
