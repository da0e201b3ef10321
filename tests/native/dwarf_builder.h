// SPDX-License-Identifier: GPL-2.0-or-later
// Writes ELF images with DWARF by hand, right or wrong, for the tests of the readers.
#pragma once

#include <dwarf.h>
#include <elf.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dwarf/debug_loader.h"
#include "program/function_facts.h"

namespace linesmith {

// Bytes as they are appended; numbers are little-endian.
class ByteWriter {
 public:
  ByteWriter& Number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }
  ByteWriter& U8(std::uint64_t value) { return Number(value, 1); }
  ByteWriter& U16(std::uint64_t value) { return Number(value, 2); }
  ByteWriter& U32(std::uint64_t value) { return Number(value, 4); }
  ByteWriter& U64(std::uint64_t value) { return Number(value, 8); }
  ByteWriter& Uleb(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) U8(value | 0x80);
    return U8(value);
  }
  ByteWriter& Sleb(std::int64_t value) {
    while (value < -64 || value > 63) {
      U8(static_cast<std::uint64_t>(value) | 0x80);
      value >>= 7;
    }
    return U8(static_cast<std::uint64_t>(value) & 0x7f);
  }
  ByteWriter& Text(const std::string& text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return U8(0);
  }
  ByteWriter& Append(const std::vector<std::uint8_t>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  // An expression as location lists hold it: its length before it (DWARF 5).
  ByteWriter& Counted(const std::vector<std::uint8_t>& bytes) { return Uleb(bytes.size()).Append(bytes); }

  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

// A relocatable-free x86-64 file of nothing but named sections.
inline std::vector<std::uint8_t> ElfImage(
    const std::vector<std::pair<std::string, std::vector<std::uint8_t>>>& sections) {
  std::vector<Elf64_Shdr> headers(1);
  ByteWriter names;
  names.U8(0);
  std::vector<std::uint8_t> image(sizeof(Elf64_Ehdr));
  const auto add = [&](std::uint32_t name, std::uint32_t type, const std::vector<std::uint8_t>& bytes) {
    Elf64_Shdr header{};
    header.sh_name = name;
    header.sh_type = type;
    header.sh_offset = image.size();
    header.sh_size = bytes.size();
    headers.push_back(header);
    image.insert(image.end(), bytes.begin(), bytes.end());
  };
  for (const auto& [name, bytes] : sections) {
    add(static_cast<std::uint32_t>(names.bytes().size()), SHT_PROGBITS, bytes);
    names.Text(name);
  }
  add(0, SHT_STRTAB, names.bytes());
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_EXEC;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = image.size();
  header.e_shnum = static_cast<std::uint16_t>(headers.size());
  header.e_shstrndx = static_cast<std::uint16_t>(headers.size() - 1);
  std::memcpy(image.data(), &header, sizeof header);
  const auto* table = reinterpret_cast<const std::uint8_t*>(headers.data());
  image.insert(image.end(), table, table + headers.size() * sizeof(Elf64_Shdr));
  return image;
}

// An attribute with the form and the bytes that a test gives it.
struct DieAttribute {
  std::uint64_t attribute;
  std::uint64_t form;
  std::vector<std::uint8_t> bytes;
};

inline DieAttribute Name(const std::string& text) {
  return {DW_AT_name, DW_FORM_string, ByteWriter().Text(text).bytes()};
}
inline DieAttribute Amount(std::uint64_t attribute, std::uint64_t value) {
  return {attribute, DW_FORM_udata, ByteWriter().Uleb(value).bytes()};
}
inline DieAttribute Address(std::uint64_t attribute, std::uint64_t value) {
  return {attribute, DW_FORM_addr, ByteWriter().U64(value).bytes()};
}
inline DieAttribute Offset(std::uint64_t attribute, std::uint64_t value) {
  return {attribute, DW_FORM_sec_offset, ByteWriter().U32(value).bytes()};
}
inline DieAttribute Reference(std::uint64_t attribute, std::uint64_t die) {
  return {attribute, DW_FORM_ref4, ByteWriter().U32(die).bytes()};
}
inline DieAttribute Index(std::uint64_t attribute, std::uint64_t form, std::uint64_t value) {
  return {attribute, form, ByteWriter().Uleb(value).bytes()};
}
inline DieAttribute Expression(const std::vector<std::uint8_t>& bytes,
                               std::uint64_t attribute = DW_AT_location) {
  return {attribute, DW_FORM_exprloc, ByteWriter().Counted(bytes).bytes()};
}
inline DieAttribute Flag(std::uint64_t attribute) { return {attribute, DW_FORM_flag_present, {}}; }

// Units of one version, one behind the other; DIEs are known by their offset in their unit.
class DwarfBuilder {
 public:
  explicit DwarfBuilder(unsigned version = 5, std::vector<DieAttribute> root = {}) : version_(version) {
    BeginUnit(std::move(root));
  }

  // Ends the unit and begins another one.
  void NextUnit(std::vector<DieAttribute> root = {}) {
    EndUnit();
    BeginUnit(std::move(root));
  }
  std::uint64_t Die(std::uint64_t tag, const std::vector<DieAttribute>& attributes) {
    return Entry(tag, false, attributes);
  }
  std::uint64_t Open(std::uint64_t tag, const std::vector<DieAttribute>& attributes) {
    return Entry(tag, true, attributes);
  }
  void Close() { entries_.U8(0); }
  std::uint64_t Int() {
    return Die(DW_TAG_base_type,
               {Name("int"), Amount(DW_AT_byte_size, 4), Amount(DW_AT_encoding, DW_ATE_signed)});
  }
  std::uint64_t PointerTo(std::uint64_t type) {
    return Die(DW_TAG_pointer_type, {Amount(DW_AT_byte_size, 8), Reference(DW_AT_type, type)});
  }
  // A function at [low, low + size), open for its variables.
  std::uint64_t Function(const std::string& name, std::uint64_t low, std::uint64_t size) {
    return Open(DW_TAG_subprogram, {Name(name), Address(DW_AT_low_pc, low), Amount(DW_AT_high_pc, size),
                                    Expression({DW_OP_call_frame_cfa}, DW_AT_frame_base)});
  }
  std::uint64_t Variable(const std::string& name, std::uint64_t type, DieAttribute location) {
    return Die(DW_TAG_variable, {Name(name), Reference(DW_AT_type, type), std::move(location)});
  }
  // Where the next DIE of the unit will be.
  std::uint64_t here() const { return header_bytes() + entries_.bytes().size(); }
  void Section(const std::string& name, std::vector<std::uint8_t> bytes) {
    sections_.emplace_back(name, std::move(bytes));
  }
  std::vector<std::uint8_t> Image() {
    EndUnit();
    abbreviations_.U8(0);
    sections_.emplace_back(".debug_info", info_.bytes());
    sections_.emplace_back(".debug_abbrev", abbreviations_.bytes());
    return ElfImage(sections_);
  }

 private:
  unsigned header_bytes() const { return version_ >= 5 ? 12 : 11; }
  void BeginUnit(std::vector<DieAttribute> root) {
    entries_ = {};
    Open(DW_TAG_compile_unit, std::move(root));
  }
  void EndUnit() {
    Close();
    info_.U32(header_bytes() - 4 + entries_.bytes().size()).U16(version_);
    if (version_ >= 5) info_.U8(DW_UT_compile).U8(8).U32(0);
    if (version_ < 5) info_.U32(0).U8(8);
    info_.Append(entries_.bytes());
  }
  std::uint64_t Entry(std::uint64_t tag, bool children, const std::vector<DieAttribute>& attributes) {
    const std::uint64_t offset = here();
    abbreviations_.Uleb(++codes_).Uleb(tag).U8(children ? 1 : 0);
    entries_.Uleb(codes_);
    for (const DieAttribute& attribute : attributes) {
      abbreviations_.Uleb(attribute.attribute).Uleb(attribute.form);
      entries_.Append(attribute.bytes);
    }
    abbreviations_.U16(0);
    return offset;
  }

  unsigned version_;
  std::uint64_t codes_ = 0;
  ByteWriter entries_;  // of the unit being written
  ByteWriter info_;
  ByteWriter abbreviations_;
  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> sections_;
};

// A built file as one worker reads it.
struct ReadFile {
  explicit ReadFile(DwarfBuilder& builder) : ReadFile(builder.Image()) {}
  explicit ReadFile(std::vector<std::uint8_t> bytes)
      : image(std::move(bytes)), info(LoadDebugImage("built", image)), pool(*info), graph(pool) {}

  UnitContext& unit(std::size_t index = 0) { return pool.Open(*info->units.at(index)); }
  UnitFacts facts(std::size_t index = 0) { return ReadUnitFacts(unit(index), graph); }

  std::vector<std::uint8_t> image;
  std::unique_ptr<DebugInfo> info;
  UnitPool pool;
  TypeGraph graph;
};

}  // namespace linesmith
