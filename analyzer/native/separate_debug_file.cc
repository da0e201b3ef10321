// SPDX-License-Identifier: GPL-2.0-or-later
// The one place that needs libdwfl, so that programs which never look for another file start without it.
#include <elfutils/libdwfl.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "debug_search.h"

namespace linesmith {
namespace {

namespace fs = std::filesystem;

// Beside the file, in .debug there, then below each directory; "+" asks for the checksum to be compared.
std::string SearchPath(const std::vector<std::string>& directories) {
  std::string path = "+:.debug";
  for (const std::string& directory : directories) {
    std::error_code failure;
    path += ":" + fs::absolute(directory, failure).string();
  }
  return path;
}

// What a server sent has a descriptor and no name.
std::optional<std::string> NameOf(int descriptor) {
  std::error_code failure;
  const fs::path name = fs::read_symlink("/proc/self/fd/" + std::to_string(descriptor), failure);
  return failure ? std::nullopt : std::optional(name.string());
}

// What libdwfl calls to find the file: a link out of the directories that are searched counts as none, and
// without a link and a build ID it would take whatever has the file's name.
int FindSeparate(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, const char* file,
                 const char* link, GElf_Word checksum, char** found) {
  if (link != nullptr && std::strchr(link, '/') != nullptr) link = nullptr;
  const unsigned char* id = nullptr;
  GElf_Addr place = 0;
  if (link == nullptr && dwfl_module_build_id(module, &id, &place) <= 0) return -1;
  const int descriptor = dwfl_standard_find_debuginfo(module, data, name, base, file, link, checksum, found);
  if (descriptor >= 0 && *found == nullptr) {
    if (const std::optional<std::string> path = NameOf(descriptor)) *found = strdup(path->c_str());
  }
  return descriptor;
}

}  // namespace

std::optional<std::string> FindDebugFile(const ElfFile& elf, const std::vector<std::string>& directories) {
  std::string search = SearchPath(directories);
  char* search_path = search.data();
  const Dwfl_Callbacks callbacks{.find_elf = dwfl_build_id_find_elf,
                                 .find_debuginfo = FindSeparate,
                                 .section_address = dwfl_offline_section_address,
                                 .debuginfo_path = &search_path};
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), dwfl_end);
  Dwfl_Module* module = session ? dwfl_report_offline(session.get(), "", elf.path().c_str(), -1) : nullptr;
  if (module == nullptr) return std::nullopt;
  // dwfl_standard_find_debuginfo may not be called but by libdwfl: it leaves an open file in the module whose
  // descriptor only libdwfl sets, and dwfl_end() then closes descriptor 0.
  Dwarf_Addr bias = 0;
  dwfl_module_getdwarf(module, &bias);
  const char* found = nullptr;
  dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, &found);
  return found == nullptr ? std::nullopt : std::optional<std::string>(found);
}

}  // namespace linesmith
