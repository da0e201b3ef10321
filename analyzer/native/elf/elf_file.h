// SPDX-License-Identifier: GPL-2.0-or-later
// An ELF file mapped read-only: header facts, and section bytes decompressed and (in ET_REL) relocated.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linesmith {

using Bytes = std::span<const std::uint8_t>;

struct SymbolTable;

// Relocatable files (.o, .ko) have no addresses: their sections are laid out one behind the other from here.
constexpr std::uint64_t kRelocatableBase = 0x100000;

// A whole file mapped read-only (or read, where it cannot be mapped); unmapped with the last owner.
class MappedFile {
 public:
  // Throws Error("ElfError") when the file cannot be opened, is no regular file, or is empty.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  Bytes bytes() const { return bytes_; }

 private:
  void Load(int descriptor, std::size_t size);

  Bytes bytes_;
  std::vector<std::uint8_t> copy_;
};

// What the ELF header says.
struct ElfHeader {
  std::uint16_t type = 0;     // ET_REL, ET_EXEC, ...
  std::uint16_t machine = 0;  // EM_X86_64, ...
  bool little_endian = true;
  std::uint8_t address_bytes = 8;
};

// One named section as its header describes it.
struct ElfSection {
  std::string name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t alignment = 0;  // 0 and 1: none
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::size_t index = 0;
  std::uint64_t address = 0;  // where the program sees it; 0 in ET_REL
  // The address, or in ET_REL where allocated sections are laid out, 4 KiB aligned; relocations go by it.
  std::uint64_t place = 0;
};

// Not safe for two threads at once; the spans it returns are, and stay valid as long as the ElfFile lives.
class ElfFile {
 public:
  // Throws Error("ElfError") when the file is no ELF object or its header tables are cut off.
  static ElfFile Open(const std::string& path);
  // Reads an image that the caller keeps alive; `name` stands for the path in messages.
  static ElfFile FromMemory(const std::string& name, Bytes image);

  const std::string& path() const { return path_; }
  const ElfHeader& header() const { return header_; }
  // Size of the whole file.
  std::uint64_t image_bytes() const { return image_.size(); }
  const std::vector<ElfSection>& sections() const { return sections_; }
  // The build-id note as lower-case hex; empty when there is none.
  const std::string& build_id() const { return build_id_; }
  // For libdw's functions; owned by the file.
  Elf* handle() const { return elf_.get(); }
  // Whether the file itself holds DWARF, be it compressed or split.
  bool HasDwarf() const;

  // The first section of that name that has bytes in the file; SHT_NOBITS counts as absent.
  const ElfSection* Find(std::string_view name) const;
  // Bytes of section `name`, decompressed (SHF_COMPRESSED) and relocated (ET_REL); empty when it is absent.
  // Falls back to the old ".zdebug_" spelling of a ".debug_" name. Throws Error("ElfError") when damaged, and
  // when all sections together come to far more than the file.
  Bytes Section(std::string_view name);
  // The same for one section header, for files that hold several sections of one name (COMDAT groups).
  Bytes Section(const ElfSection& section);
  // The section as the file has it, neither decompressed nor relocated. Throws Error("ElfError") when it
  // reaches behind the end of the file.
  Bytes FileBytes(const ElfSection& section) const;

 private:
  struct ElfCloser {
    void operator()(Elf* elf) const { elf_end(elf); }
  };

  ElfFile(std::string path, Bytes image, std::shared_ptr<MappedFile> mapping);
  void ReadHeader();
  void ReadSections();
  void ReadBuildId();
  void PlaceSections();
  // Counts bytes of a section against what all sections of the file may take. Throws Error("ElfError").
  void Spend(const ElfSection& section, std::uint64_t bytes);
  const SymbolTable& SymbolsOf(const ElfSection& relocations);
  Bytes Inflate(const ElfSection& section, Bytes raw);
  Bytes InflateOldStyle(const ElfSection& section, Bytes raw);
  Bytes InflateZlib(const ElfSection& section, Bytes packed, std::uint64_t size);
  Bytes Relocate(const ElfSection& section, Bytes bytes);

  std::string path_;
  Bytes image_;
  std::shared_ptr<MappedFile> mapping_;
  std::unique_ptr<Elf, ElfCloser> elf_;
  ElfHeader header_;
  std::vector<ElfSection> sections_;
  std::string build_id_;
  std::map<std::size_t, std::vector<std::size_t>> relocation_tables_;  // by the section that they relocate
  std::uint64_t spent_ = 0;
  std::map<std::size_t, Bytes> loaded_;
  std::map<std::size_t, std::shared_ptr<SymbolTable>> symbols_;
  std::map<std::size_t, std::unique_ptr<std::vector<std::uint8_t>>> copies_;
};

// "ELF file PATH" problems in one voice.
[[noreturn]] void ThrowElfError(const std::string& path, const std::string& problem);

}  // namespace linesmith
