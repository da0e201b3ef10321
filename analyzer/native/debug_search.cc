// SPDX-License-Identifier: GPL-2.0-or-later
#include "debug_search.h"

#include <cstring>
#include <filesystem>

#include "byte_cursor.h"
#include "error.h"

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

}  // namespace linesmith
