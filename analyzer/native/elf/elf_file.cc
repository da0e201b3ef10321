// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_file.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "elf/elf_relocation.h"
#include "elf/symbol_table.h"

namespace linesmith {
namespace {

// Deflate cannot shrink by more than about 1032:1, so a larger claimed size is a lie.
constexpr std::uint64_t kLargestInflation = 1100;
// Section counts are 32-bit in the file; no real file comes near this.
constexpr std::size_t kMostSections = 4'000'000;
// What all sections of a file may take once they are decompressed and relocated. The DWARF of compilers
// shrinks to a third or a sixth, that of generated code with little else in it to a twentieth; 64 leaves
// room. Few machines have memory for more than the last number.
constexpr std::uint64_t kMostPerFileByte = 64;
constexpr std::uint64_t kLeastBudget = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostBudget = std::uint64_t{16} << 30;
constexpr std::uint64_t kPlaceAlignment = 0x1000;
// Sections of zeroes take no room in the file, so that their size may be any lie.
constexpr std::uint64_t kLargestPlaced = std::uint64_t{1} << 40;

std::uint64_t BigEndian64(const std::uint8_t* bytes) {
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | bytes[i];
  return value;
}

std::string Hex(Bytes bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// What perf and linesmith write: perf.data, our own JSON, and the text of `perf c2c report`.
bool IsProfile(std::string_view head) {
  if (head.starts_with("PERFILE2") || head.starts_with("2ELIFREP")) return true;
  constexpr std::size_t kBeginning = 4096;
  const std::string_view beginning = head.substr(0, kBeginning);
  return beginning.starts_with("{\"linesmith-profile\"") ||
         beginning.find("Trace Event Information") != beginning.npos;
}

// The program that unpacks what begins so; distributions keep modules compressed.
const char* Unpacker(std::string_view head) {
  if (head.starts_with("\3757zXZ")) return "xz -dk";
  if (head.starts_with("\x1f\x8b")) return "gunzip -k";
  if (head.starts_with("\x28\xb5\x2f\xfd")) return "zstd -d";
  return nullptr;
}

// Linux as it boots: Documentation/arch/x86/boot.rst, Documentation/arch/arm64/booting.rst.
bool IsBootImage(std::string_view head) {
  constexpr std::size_t kX86Magic = 0x202;
  constexpr std::size_t kArm64Magic = 0x38;
  return (head.size() > kX86Magic && head.substr(kX86Magic).starts_with("HdrS")) ||
         (head.size() > kArm64Magic && head.substr(kArm64Magic).starts_with("ARM\x64"));
}

// What builds leave beside ELF objects, told by its first bytes.
std::string NotElf(Bytes image) {
  const std::string_view head(reinterpret_cast<const char*>(image.data()), image.size());
  if (head.starts_with("!<arch>\n")) {
    return "is an archive; extract its members with `ar x` and give one of them";
  }
  if (head.starts_with("!<thin>\n")) {
    return "is a thin archive; give one of the objects that it names (`ar t` lists them)";
  }
  if (head.starts_with("BC\xc0\xde")) {
    return "is LLVM bitcode, not machine code; give the linked file, or build without -flto";
  }
  if (IsProfile(head)) return "is a profile, not an ELF file; the ELF file comes first, the profile second";
  if (const char* unpacker = Unpacker(head)) {
    return std::string("is compressed; unpack it with `") + unpacker + "` and give the result";
  }
  if (IsBootImage(head)) {
    return "is a kernel as it boots, without its types; "
           "give the vmlinux of the same build (distributions put it into the debug package)";
  }
  return "is not an ELF file; give a vmlinux, a module, an object file or a program";
}

}  // namespace

void ThrowElfError(const std::string& path, const std::string& problem) {
  throw Error("ElfError", path + ": " + problem);
}

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) ThrowElfError(path, std::string("cannot be opened (") + std::strerror(errno) + ")");
  struct stat status{};
  const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  if (regular && status.st_size > 0) Load(descriptor, static_cast<std::size_t>(status.st_size));
  close(descriptor);
  if (!regular) ThrowElfError(path, "is not a regular file; give an ELF object or a raw BTF file");
  if (status.st_size == 0) ThrowElfError(path, "is empty; give an ELF object or a raw BTF file");
  if (bytes_.empty()) ThrowElfError(path, "cannot be read; give a copy of it on a local disk");
}

// Files below /sys could not be mapped before Linux 6.16: they are read.
void MappedFile::Load(int descriptor, std::size_t size) {
  void* address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address != MAP_FAILED) {
    bytes_ = {static_cast<const std::uint8_t*>(address), size};
    return;
  }
  copy_.resize(size);
  std::size_t done = 0;
  for (ssize_t got = 1; got > 0 && done < size; done += static_cast<std::size_t>(std::max<ssize_t>(got, 0))) {
    got = read(descriptor, copy_.data() + done, size - done);
  }
  copy_.resize(done);
  bytes_ = copy_;
}

MappedFile::~MappedFile() {
  if (copy_.empty() && !bytes_.empty()) munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

ElfFile ElfFile::Open(const std::string& path) {
  auto mapping = std::make_shared<MappedFile>(path);
  const Bytes image = mapping->bytes();
  return ElfFile(path, image, std::move(mapping));
}

ElfFile ElfFile::FromMemory(const std::string& name, Bytes image) { return ElfFile(name, image, nullptr); }

ElfFile::ElfFile(std::string path, Bytes image, std::shared_ptr<MappedFile> mapping)
    : path_(std::move(path)), image_(image), mapping_(std::move(mapping)) {
  elf_version(EV_CURRENT);
  if (image_.size() < EI_NIDENT || std::memcmp(image_.data(), ELFMAG, SELFMAG) != 0) {
    ThrowElfError(path_, NotElf(image_));
  }
  auto* start = reinterpret_cast<char*>(const_cast<std::uint8_t*>(image_.data()));
  elf_.reset(elf_memory(start, image_.size()));
  if (!elf_ || elf_kind(elf_.get()) != ELF_K_ELF) {
    ThrowElfError(path_,
                  "has an ELF magic but a damaged header; it may be cut off, so copy or build it again");
  }
  ReadHeader();
  ReadSections();
  ReadBuildId();
}

void ElfFile::ReadHeader() {
  GElf_Ehdr header;
  if (gelf_getehdr(elf_.get(), &header) == nullptr) {
    ThrowElfError(path_, "has a damaged ELF header; it may be cut off, so copy or build it again");
  }
  header_ = {.type = header.e_type,
             .machine = header.e_machine,
             .little_endian = header.e_ident[EI_DATA] != ELFDATA2MSB,
             .address_bytes = static_cast<std::uint8_t>(header.e_ident[EI_CLASS] == ELFCLASS32 ? 4 : 8)};
}

void ElfFile::ReadSections() {
  std::size_t count = 0;
  std::size_t names = 0;
  GElf_Ehdr file;
  const bool readable = elf_getshdrnum(elf_.get(), &count) == 0 && gelf_getehdr(elf_.get(), &file) != nullptr;
  if (!readable || count > kMostSections || (count == 0 && file.e_shoff != 0)) {
    ThrowElfError(path_,
                  "has a section table outside the file; it may be cut off, so copy or build it again");
  }
  const bool named = elf_getshdrstrndx(elf_.get(), &names) == 0;
  for (std::size_t index = 1; index < count; ++index) {
    GElf_Shdr header;
    if (gelf_getshdr(elf_getscn(elf_.get(), index), &header) == nullptr) {
      ThrowElfError(path_,
                    "has a section table outside the file; it may be cut off, so copy or build it again");
    }
    const char* name = named ? elf_strptr(elf_.get(), names, header.sh_name) : nullptr;
    sections_.push_back({.name = name != nullptr ? name : "",
                         .type = header.sh_type,
                         .flags = header.sh_flags,
                         .offset = header.sh_offset,
                         .size = header.sh_size,
                         .alignment = header.sh_addralign,
                         .link = header.sh_link,
                         .info = header.sh_info,
                         .index = index,
                         .address = header.sh_addr,
                         .place = header.sh_addr});
    const bool relocates = header.sh_type == SHT_RELA || header.sh_type == SHT_REL;
    if (relocates) relocation_tables_[header.sh_info].push_back(index - 1);
  }
  if (header_.type == ET_REL) PlaceSections();
}

void ElfFile::PlaceSections() {
  std::uint64_t next = kRelocatableBase;
  for (ElfSection& section : sections_) {
    if ((section.flags & SHF_ALLOC) == 0) continue;
    section.place = next;
    next += std::clamp<std::uint64_t>(section.size, 1, kLargestPlaced) + kPlaceAlignment - 1;
    next -= next % kPlaceAlignment;
  }
}

void ElfFile::ReadBuildId() {
  for (const ElfSection& section : sections_) {
    if (section.type != SHT_NOTE || section.offset > image_.size() ||
        section.size > image_.size() - section.offset) {
      continue;
    }
    Elf_Data* data = elf_getdata(elf_getscn(elf_.get(), section.index), nullptr);
    std::size_t offset = 0;
    GElf_Nhdr note;
    std::size_t name = 0;
    std::size_t text = 0;
    while (data != nullptr && (offset = gelf_getnote(data, offset, &note, &name, &text)) > 0) {
      const auto* start = static_cast<const std::uint8_t*>(data->d_buf);
      const bool gnu = note.n_namesz == sizeof(ELF_NOTE_GNU) &&
                       std::memcmp(start + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
      if (gnu && note.n_type == NT_GNU_BUILD_ID) {
        build_id_ = Hex({start + text, note.n_descsz});
        return;
      }
    }
  }
}

const ElfSection* ElfFile::Find(std::string_view name) const {
  for (const ElfSection& section : sections_) {
    if (section.name == name && section.type != SHT_NOBITS && section.size > 0) return &section;
  }
  return nullptr;
}

bool ElfFile::HasDwarf() const {
  return Find(".debug_info") != nullptr || Find(".zdebug_info") != nullptr ||
         Find(".debug_info.dwo") != nullptr;
}

Bytes ElfFile::Section(std::string_view name) {
  if (const ElfSection* section = Find(name)) return Section(*section);
  if (name.starts_with(".debug_")) {
    if (const ElfSection* section = Find(".z" + std::string(name.substr(1)))) return Section(*section);
  }
  return {};
}

Bytes ElfFile::Section(const ElfSection& section) {
  if (const auto known = loaded_.find(section.index); known != loaded_.end()) return known->second;
  Bytes bytes = FileBytes(section);
  Spend(section, bytes.size());
  if ((section.flags & SHF_COMPRESSED) != 0) {
    bytes = Inflate(section, bytes);
  } else if (section.name.starts_with(".zdebug_")) {
    bytes = InflateOldStyle(section, bytes);
  }
  if (header_.type == ET_REL) bytes = Relocate(section, bytes);
  loaded_[section.index] = bytes;
  return bytes;
}

// Sections of sound files do not overlap, but those of a made-up file may all be the same bytes.
void ElfFile::Spend(const ElfSection& section, std::uint64_t bytes) {
  const std::uint64_t more = std::clamp(kMostPerFileByte * image_.size(), kLeastBudget, kMostBudget);
  const std::uint64_t left = image_.size() + more - spent_;
  if (bytes <= left) {
    spent_ += bytes;
    return;
  }
  ThrowElfError(path_,
                "section " + section.name + " brings the sections to more than " +
                    std::to_string((image_.size() + more) >> 20) +
                    " MiB once they are decompressed and relocated, out of all proportion to the file; " +
                    "it is damaged or made to exhaust memory (if it is neither, decompress a copy with " +
                    "objcopy --decompress-debug-sections and read that)");
}

Bytes ElfFile::FileBytes(const ElfSection& section) const {
  if (section.offset > image_.size() || section.size > image_.size() - section.offset) {
    ThrowElfError(path_,
                  "section " + section.name +
                      " reaches behind the end of the file; it may be cut off, so copy or build it again");
  }
  return image_.subspan(section.offset, section.size);
}

// libelf could decompress, but writes to the mapped section header when it does.
Bytes ElfFile::Inflate(const ElfSection& section, Bytes raw) {
  const std::size_t header_bytes = gelf_fsize(elf_.get(), ELF_T_CHDR, 1, EV_CURRENT);
  GElf_Chdr header;
  if (raw.size() < header_bytes || gelf_getchdr(elf_getscn(elf_.get(), section.index), &header) == nullptr) {
    ThrowElfError(path_,
                  "section " + section.name +
                      " has a damaged compression header; it may be cut off, so copy or build it again");
  }
  if (header.ch_type != ELFCOMPRESS_ZLIB) {
    ThrowElfError(path_, "section " + section.name +
                             " is compressed by a method other than zlib; decompress a copy " +
                             "with objcopy --decompress-debug-sections and read that");
  }
  return InflateZlib(section, raw.subspan(header_bytes), header.ch_size);
}

// ".zdebug_": "ZLIB" and the size, before SHF_COMPRESSED was invented.
Bytes ElfFile::InflateOldStyle(const ElfSection& section, Bytes raw) {
  constexpr std::size_t kHeader = 12;
  if (raw.size() < kHeader || std::memcmp(raw.data(), "ZLIB", 4) != 0) {
    ThrowElfError(path_,
                  "section " + section.name +
                      " has a damaged compression header; it may be cut off, so copy or build it again");
  }
  return InflateZlib(section, raw.subspan(kHeader), BigEndian64(raw.data() + 4));
}

Bytes ElfFile::InflateZlib(const ElfSection& section, Bytes packed, std::uint64_t size) {
  bool sound = size / kLargestInflation <= packed.size();
  if (sound) Spend(section, size);
  auto copy = std::make_unique<std::vector<std::uint8_t>>(sound ? size : 0);
  uLongf written = copy->size();
  sound =
      sound && uncompress(copy->data(), &written, packed.data(), packed.size()) == Z_OK && written == size;
  if (!sound)
    ThrowElfError(path_, "section " + section.name + " cannot be decompressed; the file is damaged");
  return *(copies_[section.index] = std::move(copy));
}

const SymbolTable& ElfFile::SymbolsOf(const ElfSection& relocations) {
  std::shared_ptr<SymbolTable>& symbols = symbols_[relocations.link];
  if (!symbols) {
    const bool known = relocations.link > 0 && relocations.link <= sections_.size();
    const ElfSection* table = known ? &sections_[relocations.link - 1] : nullptr;
    const bool sound = table != nullptr && (table->type == SHT_SYMTAB || table->type == SHT_DYNSYM);
    if (sound) Spend(*table, table->size);
    symbols = std::make_shared<SymbolTable>(sound ? ReadSymbolTable(*this, *table) : SymbolTable{});
  }
  return *symbols;
}

Bytes ElfFile::Relocate(const ElfSection& section, Bytes bytes) {
  const auto tables = relocation_tables_.find(section.index);
  if (tables == relocation_tables_.end()) return bytes;
  Spend(section, bytes.size());
  auto copy = std::make_unique<std::vector<std::uint8_t>>(bytes.begin(), bytes.end());
  for (const std::size_t position : tables->second) {
    const ElfSection& table = sections_[position];
    Spend(table, FileBytes(table).size());
    const RelocatedSection relocated{.machine = header_.machine,
                                     .little_endian = header_.little_endian,
                                     .place = section.place,
                                     .bytes = *copy};
    if (!ApplyRelocations(elf_.get(), table, SymbolsOf(table), relocated)) {
      ThrowElfError(path_, "section " + table.name +
                               " holds relocations that cannot be applied; link the object " +
                               "(ld -r does not help) or read the linked file instead");
    }
  }
  return *(copies_[section.index] = std::move(copy));
}

}  // namespace linesmith
