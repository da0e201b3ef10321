// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/line_rows.h"

#include <dwarf.h>

#include <algorithm>
#include <array>

namespace linesmith {
namespace {

// Running a program is cheap, and files may have far more lines than types.
constexpr std::uint64_t kBytesPerStep = 8;

// What the header says of the program behind it.
struct LineHeader {
  bool little_endian = true;
  unsigned address_bytes = 8;
  std::uint8_t least_instruction = 1;
  std::uint8_t operations = 1;  // per instruction, of VLIW machines
  std::int8_t line_base = 0;
  std::uint8_t line_range = 1;
  std::uint8_t opcode_base = 1;
  std::array<std::uint8_t, 256> operands{};  // of each standard opcode
};

struct Registers {
  std::uint64_t address = 0;
  std::uint64_t operation = 0;
  std::uint32_t file = 1;
  std::uint32_t line = 1;
};

class LineProgram {
 public:
  LineProgram(const LineHeader& header, ByteCursor cursor, std::vector<LineRow>& rows)
      : header_(header), cursor_(cursor), rows_(rows) {}

  void Run();

 private:
  void Special(unsigned opcode);
  void Standard(std::uint8_t opcode);
  void Extended();
  void Advance(std::uint64_t operations);
  void Emit(std::uint32_t file, std::uint32_t line);
  void EndSequence();

  const LineHeader& header_;
  ByteCursor cursor_;
  std::vector<LineRow>& rows_;
  std::size_t sequence_ = 0;  // where the rows of the open sequence begin
  Registers at_;
};

void LineProgram::Run() {
  try {
    while (!cursor_.done()) {
      const std::uint8_t opcode = cursor_.U8();
      if (opcode >= header_.opcode_base) {
        Special(opcode - header_.opcode_base);
      } else if (opcode == 0) {
        Extended();
      } else {
        Standard(opcode);
      }
    }
  } catch (const Truncated&) {
  }
  rows_.resize(sequence_);  // a sequence without an end covers nobody knows what
}

void LineProgram::Advance(std::uint64_t operations) {
  if (header_.operations <= 1) {
    at_.address += header_.least_instruction * operations;
    return;
  }
  const std::uint64_t sum = at_.operation + operations;
  at_.address += header_.least_instruction * (sum / header_.operations);
  at_.operation = sum % header_.operations;
}

// Rows of one address replace each other.
void LineProgram::Emit(std::uint32_t file, std::uint32_t line) {
  if (rows_.size() > sequence_) {
    LineRow& last = rows_.back();
    if (last.address == at_.address) {
      last = {at_.address, file, line};
      return;
    }
    if (last.address > at_.address) throw Truncated();
  }
  rows_.push_back({at_.address, file, line});
}

void LineProgram::EndSequence() {
  const std::uint64_t first = rows_.size() > sequence_ ? rows_[sequence_].address : 0;
  const bool dropped = first == 0 || first >= (~std::uint64_t{0} >> (64 - 8 * header_.address_bytes)) - 1;
  if (dropped) {
    rows_.resize(sequence_);
  } else if (rows_.back().address < at_.address) {
    rows_.push_back({at_.address, 0, 0});
  }
  sequence_ = rows_.size();
  at_ = {};
}

void LineProgram::Special(unsigned opcode) {
  Advance(opcode / header_.line_range);
  const int step = header_.line_base + static_cast<int>(opcode % header_.line_range);
  at_.line += static_cast<std::uint32_t>(step);
  Emit(at_.file, at_.line);
}

void LineProgram::Standard(std::uint8_t opcode) {
  switch (opcode) {
    case DW_LNS_copy:
      return Emit(at_.file, at_.line);
    case DW_LNS_advance_pc:
      return Advance(cursor_.Uleb());
    case DW_LNS_advance_line:
      at_.line += static_cast<std::uint32_t>(cursor_.Sleb());
      return;
    case DW_LNS_set_file:
      at_.file = static_cast<std::uint32_t>(cursor_.Uleb());
      return;
    case DW_LNS_const_add_pc:
      return Advance((255u - header_.opcode_base) / header_.line_range);
    case DW_LNS_fixed_advance_pc:
      at_.address += cursor_.U16();
      at_.operation = 0;
      return;
    default:
      for (unsigned i = 0; i < header_.operands[opcode]; ++i) cursor_.Uleb();
  }
}

void LineProgram::Extended() {
  const std::uint64_t length = cursor_.Uleb();
  const std::uint8_t* start = cursor_.position();
  cursor_.Skip(length);
  if (length == 0) return;
  ByteCursor argument(start + 1, cursor_.position(), header_.little_endian);
  if (*start == DW_LNE_end_sequence) return EndSequence();
  if (*start != DW_LNE_set_address) return;
  at_.address = argument.Unsigned(static_cast<unsigned>(argument.left()));
  at_.operation = 0;
}

// Reads the header in front of a program; the cursor, which ends with the program, moves behind it.
LineHeader ReadHeader(const Unit& unit, ByteCursor& cursor) {
  std::uint64_t length = cursor.U32();
  const unsigned offset_bytes = length == 0xffffffff ? 8 : 4;
  if (offset_bytes == 8) length = cursor.U64();
  if (length > cursor.left()) throw Truncated();
  const bool little = unit.file->little_endian();
  cursor = ByteCursor(cursor.position(), cursor.position() + length, little);
  LineHeader header{.little_endian = little, .address_bytes = unit.widths.address_bytes};
  const std::uint16_t version = cursor.U16();
  if (version < 2 || version > 5) throw Truncated();
  if (version >= 5) cursor.Skip(2);  // address and segment selector sizes
  const std::uint64_t header_bytes = cursor.Unsigned(offset_bytes);
  if (header_bytes > cursor.left()) throw Truncated();
  const std::uint8_t* program = cursor.position() + header_bytes;
  header.least_instruction = cursor.U8();
  if (version >= 4) header.operations = cursor.U8();
  cursor.Skip(1);  // whether rows are statements by default
  header.line_base = static_cast<std::int8_t>(cursor.U8());
  header.line_range = cursor.U8();
  header.opcode_base = cursor.U8();
  if (header.line_range == 0 || header.opcode_base == 0) throw Truncated();
  for (unsigned opcode = 1; opcode < header.opcode_base; ++opcode) header.operands[opcode] = cursor.U8();
  cursor.ForwardTo(program);
  return header;
}

bool Ends(const LineRow& row) { return row.line == 0 && row.file == 0; }

// Sequences come in any order; where one ends and another begins, only the beginning counts. A row that says
// the same as the one before is none.
void SortRows(std::vector<LineRow>& rows) {
  std::ranges::stable_sort(rows, [](const LineRow& a, const LineRow& b) {
    return a.address != b.address ? a.address < b.address : Ends(a) && !Ends(b);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + 1 < rows.size() && rows[i + 1].address == rows[i].address) continue;
    const bool repeats =
        kept > 0 && rows[kept - 1].file == rows[i].file && rows[kept - 1].line == rows[i].line;
    if (!repeats) rows[kept++] = rows[i];
  }
  rows.resize(kept);
}

}  // namespace

std::vector<LineRow> ReadLineRows(UnitPool& pool, const Unit& unit, std::uint64_t offset) {
  std::vector<LineRow> rows;
  const Bytes section = unit.file->sections().lines;
  if (unit.line_tables > section.size() || offset > section.size() - unit.line_tables) return rows;
  try {
    ByteCursor cursor(section.subspan(unit.line_tables + offset), unit.file->little_endian());
    const LineHeader header = ReadHeader(unit, cursor);
    pool.Spend(cursor.left() / kBytesPerStep);
    LineProgram(header, cursor, rows).Run();
  } catch (const Truncated&) {
  }
  SortRows(rows);
  return rows;
}

}  // namespace linesmith
