// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/patched_code.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <span>

#include "elf/byte_cursor.h"

namespace linesmith {
namespace {

constexpr std::uint16_t kWarningFlag = 1;  // BUGFLAG_WARNING of include/asm-generic/bug.h
constexpr std::uint64_t kStaticCallBytes = 5;
// Alignment may leave an entry or two of zeroes; any more that lead nowhere tell another size of entries.
constexpr std::size_t kMostStrangers = 2;

struct Table {
  std::uint64_t address = 0;
  Bytes bytes;
};

// One entry of a table; fields are read at byte offsets into it.
class Entry {
 public:
  Entry(Bytes bytes, std::uint64_t address, bool little_endian)
      : bytes_(bytes), address_(address), little_endian_(little_endian) {}

  std::uint64_t Number(std::size_t offset, unsigned width) const {
    return ByteCursor(bytes_.subspan(offset), little_endian_).Unsigned(width);
  }
  // What a signed 32-bit distance from the field itself leads to.
  std::uint64_t Relative(std::size_t offset) const {
    const auto distance = static_cast<std::int32_t>(Number(offset, 4));
    return address_ + offset + static_cast<std::uint64_t>(std::int64_t{distance});
  }

 private:
  Bytes bytes_;
  std::uint64_t address_;
  bool little_endian_;
};

class TableReader {
 public:
  TableReader(const ImageSections& sections, std::uint16_t machine, const std::vector<ElfSymbol>& symbols)
      : sections_(sections), machine_(machine), symbols_(symbols) {}

  PatchedCode Read();

 private:
  using Visit = std::function<void(const Entry&)>;
  using IsSound = std::function<bool(std::size_t size, const Entry&)>;

  Table Find(std::string_view section, std::string_view first, std::string_view last) const;
  std::uint64_t SymbolAddress(std::string_view name) const;
  void ForEach(const Table& table, std::size_t entry_bytes, const Visit& visit) const;
  std::size_t EntryBytes(const Table& table, std::span<const std::size_t> sizes, const IsSound& sound) const;

  void ReadAlternatives();
  void ReadParavirt();
  void ReadJumpLabels();
  void ReadStaticCalls();
  void ReadExceptions();
  void ReadBugs();
  bool IsTrap(std::uint64_t address) const;
  std::uint64_t JumpTarget(std::uint64_t address) const;
  void AddRange(std::uint64_t first, std::uint64_t bytes);

  const ImageSections& sections_;
  std::uint16_t machine_;
  const std::vector<ElfSymbol>& symbols_;
  std::map<std::uint64_t, std::uint64_t> jumps_;  // jumps that are replaced, and where to instead
  PatchedCode result_;
};

std::uint64_t TableReader::SymbolAddress(std::string_view name) const {
  const auto found =
      std::ranges::find_if(symbols_, [&](const ElfSymbol& symbol) { return symbol.name == name; });
  return found != symbols_.end() ? found->address : 0;
}

Table TableReader::Find(std::string_view section, std::string_view first, std::string_view last) const {
  if (const ImageSection* own = sections_.Named(section)) return {own->range.low, own->bytes};
  const std::uint64_t start = SymbolAddress(first);
  const std::uint64_t end = SymbolAddress(last);
  const Bytes bytes = start != 0 ? sections_.At(start) : Bytes{};
  if (end <= start || end - start > bytes.size()) return {};
  return {start, bytes.first(end - start)};
}

void TableReader::ForEach(const Table& table, std::size_t entry_bytes, const Visit& visit) const {
  for (std::size_t at = 0; at + entry_bytes <= table.bytes.size(); at += entry_bytes) {
    visit(Entry(table.bytes.subspan(at, entry_bytes), table.address + at, sections_.little_endian()));
  }
}

// The size for which most of the table makes sense; entries have grown over the versions. 0: none.
std::size_t TableReader::EntryBytes(const Table& table, std::span<const std::size_t> sizes,
                                    const IsSound& sound) const {
  std::size_t best = 0;
  std::size_t most = 0;
  for (const std::size_t size : sizes) {
    std::size_t fitting = 0;
    ForEach(table, size, [&](const Entry& entry) { fitting += sound(size, entry) ? 1 : 0; });
    const std::size_t strangers = table.bytes.size() / size - fitting;
    if (fitting <= most || strangers > kMostStrangers) continue;
    most = fitting;
    best = size;
  }
  return best;
}

void TableReader::AddRange(std::uint64_t first, std::uint64_t bytes) {
  if (bytes > 0 && first <= ~std::uint64_t{0} - bytes) result_.ranges.push_back({first, first + bytes});
}

// struct alt_instr: two distances, feature bits (16, since 6.3 32 on x86), the lengths of both codes,
// until 5.12 one of padding.
void TableReader::ReadAlternatives() {
  static constexpr std::array<std::size_t, 3> kSizes = {12, 14, 13};
  const Table table = Find(".altinstructions", "__alt_instructions", "__alt_instructions_end");
  const auto length_at = [](std::size_t size) -> std::size_t { return size == 14 ? 12 : 10; };
  const std::size_t size = EntryBytes(table, kSizes, [&](std::size_t bytes, const Entry& entry) {
    return sections_.IsCode(entry.Relative(0)) && entry.Number(length_at(bytes), 1) != 0 &&
           (entry.Number(length_at(bytes) + 1, 1) == 0 || sections_.Find(entry.Relative(4)) != nullptr);
  });
  if (size == 0) return;
  ForEach(table, size, [&](const Entry& entry) {
    const std::uint64_t old = entry.Relative(0);
    const std::uint64_t length = entry.Number(length_at(size), 1);
    if (!sections_.IsCode(old)) return;
    AddRange(old, length);
    if (JumpTarget(old) == 0) return;
    const std::uint64_t other = JumpTarget(entry.Relative(4));
    if (other != 0) jumps_[old] = other;
    jumps_.try_emplace(old, old + length);
  });
  result_.side_exits.assign(jumps_.begin(), jumps_.end());
}

// Where the plain jump at `address` goes; 0 for other instructions. Jumps are how code chooses by features of
// the processor: they are replaced by no-ops or by other jumps.
std::uint64_t TableReader::JumpTarget(std::uint64_t address) const {
  const Bytes code = sections_.At(address);
  if (!sections_.IsCode(address) || code.size() < 4) return 0;
  ByteCursor cursor(code, true);
  std::int64_t distance = 0;
  if (machine_ == EM_AARCH64) {
    const std::uint32_t word = cursor.U32();
    if (word >> 26 != 0x05) return 0;
    distance = static_cast<std::int32_t>(word << 6) >> 4;
  } else if (code[0] == 0xeb) {
    distance = static_cast<std::int8_t>(code[1]) + 2;
  } else if (code[0] == 0xe9 && code.size() >= 5) {
    cursor.Skip(1);
    distance = std::int64_t{static_cast<std::int32_t>(cursor.U32())} + 5;
  } else {
    return 0;
  }
  return address + static_cast<std::uint64_t>(distance);
}

// struct paravirt_patch_site (until 6.7): address, type, length.
void TableReader::ReadParavirt() {
  const Table table = Find(".parainstructions", "__parainstructions", "__parainstructions_end");
  ForEach(table, 16, [&](const Entry& entry) {
    const std::uint64_t address = entry.Number(0, 8);
    if (sections_.IsCode(address)) AddRange(address, entry.Number(9, 1));
  });
}

// struct jump_entry: distances of code and target, then the key.
void TableReader::ReadJumpLabels() {
  const Table table = Find("__jump_table", "__start___jump_table", "__stop___jump_table");
  ForEach(table, 16, [&](const Entry& entry) {
    const std::uint64_t code = entry.Relative(0);
    if (sections_.IsCode(code) && sections_.IsCode(entry.Relative(4))) {
      result_.side_exits.emplace_back(code, entry.Relative(4));
    }
  });
}

void TableReader::ReadStaticCalls() {
  const Table table = Find(".static_call_sites", "__start_static_call_sites", "__stop_static_call_sites");
  ForEach(table, 8, [&](const Entry& entry) {
    if (sections_.IsCode(entry.Relative(0))) AddRange(entry.Relative(0), kStaticCallBytes);
  });
}

// struct exception_table_entry: distances of the instruction and of where it goes on, then what else to do.
void TableReader::ReadExceptions() {
  const Table table = Find("__ex_table", "__start___ex_table", "__stop___ex_table");
  ForEach(table, 12, [&](const Entry& entry) {
    const std::uint64_t code = entry.Relative(0);
    if (sections_.IsCode(code) && sections_.IsCode(entry.Relative(4))) {
      result_.side_exits.emplace_back(code, entry.Relative(4));
    }
  });
}

// ud2 of x86-64, brk of arm64.
bool TableReader::IsTrap(std::uint64_t address) const {
  const Bytes code = sections_.At(address);
  if (!sections_.IsCode(address) || code.size() < 2) return false;
  if (machine_ == EM_X86_64) return code[0] == 0x0f && code[1] == 0x0b;
  return machine_ == EM_AARCH64 && code.size() >= 4 &&
         (ByteCursor(code, true).U32() & 0xffe0001f) == 0xd4200000;
}

// struct bug_entry: distance of the trap, then (with verbose bugs) of texts and a line, then flags.
void TableReader::ReadBugs() {
  static constexpr std::array<std::size_t, 3> kSizes = {12, 16, 8};
  const Table table = Find("__bug_table", "__start___bug_table", "__stop___bug_table");
  const auto sound = [&](std::size_t, const Entry& entry) { return IsTrap(entry.Relative(0)); };
  const std::size_t size = EntryBytes(table, kSizes, sound);
  if (size == 0) return;
  const std::size_t flags_at = size == 8 ? 4 : size - 2;
  ForEach(table, size, [&](const Entry& entry) {
    if ((entry.Number(flags_at, 2) & kWarningFlag) != 0) result_.warnings.push_back(entry.Relative(0));
  });
}

std::vector<AddressRange> Merged(std::vector<AddressRange> ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::low);
  std::vector<AddressRange> merged;
  for (const AddressRange& range : ranges) {
    if (!merged.empty() && range.low <= merged.back().high) {
      merged.back().high = std::max(merged.back().high, range.high);
    } else {
      merged.push_back(range);
    }
  }
  return merged;
}

PatchedCode TableReader::Read() {
  ReadAlternatives();
  ReadParavirt();
  ReadJumpLabels();
  ReadStaticCalls();
  ReadExceptions();
  ReadBugs();
  result_.ranges = Merged(std::move(result_.ranges));
  std::ranges::sort(result_.side_exits);
  std::ranges::sort(result_.warnings);
  return std::move(result_);
}

}  // namespace

PatchedCode ReadPatchedCode(const ImageSections& sections, std::uint16_t machine,
                            const std::vector<ElfSymbol>& symbols) {
  return TableReader(sections, machine, symbols).Read();
}

}  // namespace linesmith
