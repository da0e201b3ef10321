// SPDX-License-Identifier: GPL-2.0-or-later
#include "dwarf/line_files.h"

#include <dwarf.h>

#include <string_view>

#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

struct EntryField {
  std::uint64_t content = 0;
  std::uint64_t form = 0;
};

struct TableReader {
  const Unit& unit;
  ByteCursor& cursor;
  unsigned offset_bytes;

  const char* IndexedString(std::uint64_t index) const {
    const Bytes table = unit.file->sections().string_offsets;
    const std::uint64_t header = unit.version >= 5 ? (offset_bytes == 8 ? 16 : 8) : 0;
    const std::uint64_t base = unit.string_offsets + header;
    if (base > table.size() || index >= (table.size() - base) / offset_bytes) return "";
    ByteCursor entry(table.subspan(base + index * offset_bytes), unit.file->little_endian());
    return unit.file->sections().strings.At(entry.Unsigned(offset_bytes));
  }

  const char* Text(std::uint64_t form) const {
    const DwarfSections& sections = unit.file->sections();
    switch (form) {
      case DW_FORM_string:
        return cursor.String();
      case DW_FORM_line_strp:
        return sections.line_strings.At(cursor.Unsigned(offset_bytes));
      case DW_FORM_strp:
        return sections.strings.At(cursor.Unsigned(offset_bytes));
      case DW_FORM_strx:
        return IndexedString(cursor.Uleb());
      case DW_FORM_strx1:
        return IndexedString(cursor.U8());
      case DW_FORM_strx2:
        return IndexedString(cursor.U16());
      case DW_FORM_strx4:
        return IndexedString(cursor.U32());
      default:
        throw Truncated();
    }
  }

  std::uint64_t Number(std::uint64_t form) const {
    switch (form) {
      case DW_FORM_udata:
        return cursor.Uleb();
      case DW_FORM_data1:
        return cursor.U8();
      case DW_FORM_data2:
        return cursor.U16();
      case DW_FORM_data4:
        return cursor.U32();
      case DW_FORM_data8:
        return cursor.U64();
      case DW_FORM_data16:
        cursor.Skip(16);
        return 0;
      case DW_FORM_block:
        cursor.Skip(cursor.Uleb());
        return 0;
      default:
        Text(form);
        return 0;
    }
  }

  // A version 5 table of directories or files.
  std::vector<LineFile> Entries() const {
    std::vector<EntryField> fields(cursor.U8());
    for (EntryField& field : fields) field = {cursor.Uleb(), cursor.Uleb()};
    const std::uint64_t count = cursor.Uleb();
    if (fields.empty() || count > cursor.left()) throw Truncated();
    std::vector<LineFile> entries(count);
    for (LineFile& entry : entries) {
      for (const EntryField& field : fields) {
        if (field.content == DW_LNCT_path) {
          entry.name = Text(field.form);
        } else {
          const std::uint64_t number = Number(field.form);
          if (field.content == DW_LNCT_directory_index) entry.directory = number;
        }
      }
    }
    return entries;
  }
};

// Appends the components of `path` to `parts`, resolving "." and "..".
void AppendComponents(std::string_view path, std::vector<std::string_view>& parts) {
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty() && parts.back() != "..") {
      parts.pop_back();
    } else {
      parts.push_back(part);
    }
  }
}

std::string Normalised(std::string_view directory, std::string_view name) {
  std::vector<std::string_view> parts;
  const bool absolute = name.starts_with('/') || directory.starts_with('/');
  if (!name.starts_with('/')) AppendComponents(directory, parts);
  AppendComponents(name, parts);
  std::string path = absolute ? "/" : "";
  for (const std::string_view part : parts) {
    if (path.size() > 1 || (path.size() == 1 && path != "/")) path += '/';
    path += part;
  }
  return path;
}

}  // namespace

LineFiles::LineFiles(const Unit& unit, std::uint64_t offset) {
  try {
    Read(unit, offset);
  } catch (const Truncated&) {
  }
}

void LineFiles::Read(const Unit& unit, std::uint64_t offset) {
  const Bytes section = unit.file->sections().lines;
  if (unit.line_tables > section.size() || offset > section.size() - unit.line_tables) return;
  ByteCursor cursor(section.subspan(unit.line_tables + offset), unit.file->little_endian());
  std::uint64_t length = cursor.U32();
  const unsigned offset_bytes = length == 0xffffffff ? 8 : 4;
  if (offset_bytes == 8) length = cursor.U64();
  if (length > cursor.left()) return;
  const std::uint16_t version = cursor.U16();
  if (version < 2 || version > 5) return;
  if (version >= 5) cursor.Skip(2);   // address and segment selector sizes
  cursor.Unsigned(offset_bytes);      // header length
  cursor.Skip(version >= 4 ? 2 : 1);  // minimum instruction length, operations per instruction
  cursor.Skip(3);                     // default_is_stmt, line base, line range
  const std::uint8_t opcode_base = cursor.U8();
  cursor.Skip(opcode_base == 0 ? 0 : opcode_base - 1);
  if (version >= 5) {
    const TableReader reader{unit, cursor, offset_bytes};
    for (const LineFile& entry : reader.Entries()) directories_.push_back(entry.name);
    files_ = reader.Entries();
    return;
  }
  directories_.push_back("");  // entry 0 is the compilation directory
  while (cursor.left() > 0 && *cursor.position() != 0) directories_.push_back(cursor.String());
  cursor.Skip(1);
  files_.emplace_back();  // files count from 1
  while (cursor.left() > 0 && *cursor.position() != 0) {
    LineFile file{.name = cursor.String(), .directory = cursor.Uleb()};
    cursor.Uleb();  // time of last change
    cursor.Uleb();  // length in bytes
    files_.push_back(file);
  }
}

const char* LineFiles::Name(std::uint64_t index) const {
  return index < files_.size() ? files_[index].name : "";
}

const char* LineFiles::Directory(std::uint64_t index) const {
  if (index >= files_.size() || files_[index].directory >= directories_.size()) return "";
  return directories_[files_[index].directory];
}

const char* LineFiles::Root(const char* compilation_directory) const {
  return *compilation_directory != 0 || directories_.empty() ? compilation_directory : directories_[0];
}

std::string LineFiles::Path(std::uint64_t index, const char* compilation_directory) const {
  const std::string_view name = Name(index);
  if (name.empty()) return "";
  std::string_view directory = Directory(index);
  std::string path = Normalised(directory, name);
  const std::string root = Normalised(Root(compilation_directory), "");
  if (root.size() > 1 && path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/') {
    path.erase(0, root.size() + 1);
  }
  return path;
}

}  // namespace linesmith
