// SPDX-License-Identifier: GPL-2.0-or-later

#include "elf/debug_search.h"

#include <elfutils/libdwfl.h>

#include <cstring>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

namespace fs = std::filesystem;

std::string BuildIdPath(const std::string& directory, const std::string& build_id) {
  return directory + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

std::string AbsoluteDirectory(const std::string& path) {
  std::error_code failure;
  const fs::path absolute = fs::canonical(path, failure);
  return failure ? "" : absolute.parent_path().string();
}

constexpr std::string_view kSystemDirectory = "/usr/lib/debug";

// The debug directory that `path` lies in, when a package was unpacked somewhere else; "" for none.
std::string OwnDebugDirectory(const std::string& path) {
  const std::string home = AbsoluteDirectory(path) + "/";
  if (const std::size_t end = home.rfind("/.build-id/"); end != std::string::npos) return home.substr(0, end);
  const std::size_t start = home.rfind(std::string(kSystemDirectory) + "/");
  return start == std::string::npos ? "" : home.substr(0, start + kSystemDirectory.size());
}

bool HasBuildId(const std::string& path, const std::string& build_id) {
  try {
    return ElfFile::Open(path).build_id() == build_id;
  } catch (const Error&) {
    return false;
  }
}

// A file name at the start of a link section, and what stands behind it.
struct Link {
  std::string file;
  Bytes rest;
};

std::optional<Link> ReadLink(Bytes section) {
  const void* nul = section.empty() ? nullptr : std::memchr(section.data(), 0, section.size());
  if (nul == nullptr) return std::nullopt;
  const auto length = static_cast<std::size_t>(static_cast<const std::uint8_t*>(nul) - section.data());
  if (length == 0) return std::nullopt;
  return Link{std::string(reinterpret_cast<const char*>(section.data()), length),
              section.subspan(length + 1)};
}

std::string HexOf(Bytes bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// .debug_sup: version, is_supplementary, file name, checksum length, checksum (DWARF 5, 7.3.6).
std::optional<Link> ReadSupplementLink(ElfFile& elf) {
  if (std::optional<Link> link = ReadLink(elf.Section(".gnu_debugaltlink"))) return link;
  const Bytes section = elf.Section(".debug_sup");
  if (section.size() < 4 || section[2] != 0) return std::nullopt;
  std::optional<Link> link = ReadLink(section.subspan(3));
  if (!link) return std::nullopt;
  try {
    ByteCursor cursor(link->rest, elf.header().little_endian);
    const std::uint64_t length = cursor.Uleb();
    const std::uint8_t* start = cursor.position();
    cursor.Skip(length);
    link->rest = {start, cursor.position()};
  } catch (const Truncated&) {
    return std::nullopt;
  }
  return link;
}

}  // namespace

bool IsReadableFile(const std::string& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure) && !failure;
}

std::string Beside(const std::string& origin, const std::string& path) {
  if (path.starts_with('/')) return path;
  const std::string home = AbsoluteDirectory(origin);
  return home.empty() ? path : home + "/" + path;
}

std::optional<std::string> FindSupplement(ElfFile& elf, const std::vector<std::string>& directories) {
  const std::optional<Link> link = ReadSupplementLink(elf);
  if (!link) return std::nullopt;
  const std::string build_id = HexOf(link->rest);
  std::vector<std::string> candidates = {Beside(elf.path(), link->file)};
  for (const std::string& directory : directories) {
    if (build_id.size() >= 4) candidates.push_back(BuildIdPath(directory, build_id));
    if (link->file.starts_with('/')) candidates.push_back(directory + link->file);
  }
  if (const std::string own = OwnDebugDirectory(elf.path()); !own.empty()) {
    if (build_id.size() >= 4) candidates.push_back(BuildIdPath(own, build_id));
    if (link->file.starts_with(kSystemDirectory))
      candidates.push_back(own + link->file.substr(kSystemDirectory.size()));
  }
  for (const std::string& candidate : candidates) {
    if (IsReadableFile(candidate) && (build_id.empty() || HasBuildId(candidate, build_id))) return candidate;
  }
  throw Error("DebugInfoMissing",
              elf.path() + ": shares debug information with " + link->file +
                  ", which cannot be found; install the package that holds it, or put the "
                  "file there");
}

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
