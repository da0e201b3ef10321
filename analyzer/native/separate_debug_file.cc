// SPDX-License-Identifier: GPL-2.0-or-later
// The one place that needs libdwfl, so that programs which never look for another file start without it.
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstdlib>
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

}  // namespace

std::optional<std::string> FindDebugFile(const ElfFile& elf, const std::vector<std::string>& directories) {
  GElf_Word checksum = 0;
  const char* link = dwelf_elf_gnu_debuglink(elf.handle(), &checksum);
  if (link != nullptr && std::strchr(link, '/') != nullptr) link = nullptr;
  // With neither, libdwfl would take whatever has the file's name.
  if (link == nullptr && elf.build_id().empty()) return std::nullopt;
  std::string search = SearchPath(directories);
  char* search_path = search.data();
  const Dwfl_Callbacks callbacks{.find_elf = dwfl_build_id_find_elf,
                                 .find_debuginfo = dwfl_standard_find_debuginfo,
                                 .section_address = dwfl_offline_section_address,
                                 .debuginfo_path = &search_path};
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session(dwfl_begin(&callbacks), dwfl_end);
  const char* file = elf.path().c_str();
  Dwfl_Module* module = session ? dwfl_report_offline(session.get(), "", file, -1) : nullptr;
  if (module == nullptr) return std::nullopt;
  char* found = nullptr;
  const int descriptor = dwfl_standard_find_debuginfo(module, nullptr, "", 0, file, link, checksum, &found);
  const std::unique_ptr<char, decltype(&std::free)> name(found, std::free);
  if (descriptor < 0) return std::nullopt;
  const std::optional<std::string> path = name ? std::optional<std::string>(name.get()) : NameOf(descriptor);
  close(descriptor);
  return path;
}

}  // namespace linesmith
