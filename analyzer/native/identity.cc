// SPDX-License-Identifier: GPL-2.0-or-later

#include "identity.h"

#include <capstone/capstone.h>
#include <elfutils/libdwfl.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "btf/btf.h"
#include "elf/debug_search.h"
#include "elf/elf_file.h"

namespace linesmith {
namespace {

struct MachineName {
  std::uint16_t machine;
  const char* name;
};

constexpr auto kMachines = std::to_array<MachineName>({
    {EM_X86_64, "x86-64"},
    {EM_386, "i386"},
    {EM_AARCH64, "aarch64"},
    {EM_ARM, "arm"},
    {EM_RISCV, "riscv"},
    {EM_PPC64, "ppc64"},
    {EM_PPC, "ppc"},
    {EM_S390, "s390"},
    {EM_MIPS, "mips"},
    {EM_SPARCV9, "sparc64"},
    {EM_SPARC, "sparc"},
    {EM_PARISC, "parisc"},
    {EM_68K, "m68k"},
    {EM_BPF, "bpf"},
    {258, "loongarch"},
});

std::string NameOfMachine(std::uint16_t machine) {
  for (const MachineName& entry : kMachines) {
    if (entry.machine == machine) return entry.name;
  }
  return "machine " + std::to_string(machine);
}

std::string NameOfType(std::uint16_t type) {
  switch (type) {
    case ET_REL:
      return "ET_REL";
    case ET_EXEC:
      return "ET_EXEC";
    case ET_DYN:
      return "ET_DYN";
    case ET_CORE:
      return "ET_CORE";
    default:
      return "type " + std::to_string(type);
  }
}

// Reads, because files below /sys cannot be mapped on every kernel. Nothing for a FIFO, which would wait for
// a writer.
std::vector<std::uint8_t> Head(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return {};
  std::vector<std::uint8_t> head(24);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

}  // namespace

FileIdentity Identify(const std::string& path, const std::vector<std::string>& debug_directories) {
  const std::vector<std::uint8_t> head = Head(path);
  if (IsRawBtf(head)) {
    FileIdentity raw{
        .path = path, .build_id = "", .machine = "any", .kind = "BTF", .debug_path = std::nullopt};
    raw.little_endian = head[0] == 0x9f;
    raw.has_btf = true;
    return raw;
  }
  const ElfFile elf = ElfFile::Open(path);
  FileIdentity identity{.path = path,
                        .build_id = elf.build_id(),
                        .machine = NameOfMachine(elf.header().machine),
                        .kind = NameOfType(elf.header().type),
                        .little_endian = elf.header().little_endian,
                        .address_bytes = elf.header().address_bytes,
                        .has_dwarf = elf.HasDwarf(),
                        .has_btf = elf.Find(".BTF") != nullptr,
                        .debug_path = std::nullopt};
  if (!identity.has_dwarf) {
    const std::optional<std::string> found = FindDebugFile(elf, debug_directories);
    if (found && ElfFile::Open(*found).HasDwarf()) identity.debug_path = found;
    identity.has_dwarf = identity.debug_path.has_value();
  }
  return identity;
}

std::string CompilerVersion() {
#if defined(__clang__)
  return __VERSION__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

std::string LibdwVersion() {
  const char* version = dwfl_version(nullptr);
  return version == nullptr ? "" : version;
}

std::string CapstoneVersion() {
  int major = 0;
  int minor = 0;
  cs_version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace linesmith
