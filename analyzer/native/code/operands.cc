// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/operands.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "elf/byte_cursor.h"
#include "elf/debug_search.h"
#include "elf/symbol_table.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kMostBytesOfFunction = 1 << 20;
constexpr std::uint64_t kMostBytes = 16 << 20;
constexpr std::string_view kCold = ".cold";

bool HasSymbolTable(const ElfFile& elf) {
  const auto is_table = [](const ElfSection& section) { return section.type == SHT_SYMTAB; };
  return std::ranges::any_of(elf.sections(), is_table);
}

// The bytes of code sections, cut into functions.
class CodeReader {
 public:
  explicit CodeReader(ElfFile& elf) : elf_(elf) {}

  // Nothing when the file holds no bytes of this section, or the function leaves it. Sections go by name and
  // size, since the symbols may come from another file.
  std::optional<CodePiece> Piece(const ElfSection& section, const FunctionSymbol& symbol);

 private:
  const ElfSection* Counterpart(const ElfSection& section) const;
  const std::vector<std::uint64_t>& Relocations(const ElfSection& section);

  ElfFile& elf_;
  std::map<std::size_t, std::vector<std::uint64_t>> relocations_;
};

const ElfSection* CodeReader::Counterpart(const ElfSection& section) const {
  const auto same = [&](const ElfSection& other) {
    return other.name == section.name && other.size == section.size && other.address == section.address;
  };
  const auto& sections = elf_.sections();
  if (section.index <= sections.size() && same(sections[section.index - 1])) {
    return &sections[section.index - 1];
  }
  const auto found = std::ranges::find_if(sections, same);
  return found != sections.end() ? &*found : nullptr;
}

std::optional<CodePiece> CodeReader::Piece(const ElfSection& wanted, const FunctionSymbol& symbol) {
  const ElfSection* section = Counterpart(wanted);
  if (section == nullptr || section->type == SHT_NOBITS || (section->flags & SHF_ALLOC) == 0)
    return std::nullopt;
  const Bytes bytes = elf_.Section(*section);
  if (symbol.offset > bytes.size() || symbol.size > bytes.size() - symbol.offset) return std::nullopt;
  const std::uint64_t size = std::min(symbol.size, kMostBytesOfFunction);
  CodePiece piece{.bytes = bytes.subspan(symbol.offset, size), .relocations = {}};
  if (elf_.header().type != ET_REL) return piece;
  const std::vector<std::uint64_t>& all = Relocations(*section);
  const auto end = std::ranges::lower_bound(all, symbol.offset + size);
  for (auto next = std::ranges::lower_bound(all, symbol.offset); next != end; ++next) {
    piece.relocations.push_back(*next - symbol.offset);
  }
  return piece;
}

// Where the section is relocated, ascending. Type 0 is R_*_NONE on every machine.
const std::vector<std::uint64_t>& CodeReader::Relocations(const ElfSection& section) {
  const auto [place, fresh] = relocations_.try_emplace(section.index);
  std::vector<std::uint64_t>& offsets = place->second;
  if (!fresh) return offsets;
  const unsigned word = elf_.header().address_bytes;
  for (const ElfSection& table : elf_.sections()) {
    if ((table.type != SHT_RELA && table.type != SHT_REL) || table.info != section.index) continue;
    ByteCursor cursor(elf_.Section(table), elf_.header().little_endian);
    const std::size_t entry = word * (table.type == SHT_RELA ? 3 : 2);
    while (cursor.left() >= entry) {
      const std::uint64_t offset = cursor.Unsigned(word);
      const std::uint64_t info = cursor.Unsigned(word);
      cursor.Skip(entry - 2 * word);
      const std::uint64_t type = word == 8 ? info & 0xffffffff : info & 0xff;
      if (type != 0) offsets.push_back(offset);
    }
  }
  std::ranges::sort(offsets);
  return offsets;
}

// A function asked for, or a part of one.
struct FoundPiece {
  std::string_view symbol;
  std::set<std::string> names;  // to report it under
  CodePiece code;
};

std::vector<FoundPiece> FindPieces(ElfFile& symbols, ElfFile& code, const NameMatcher& matcher) {
  CodeReader reader(code);
  std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> known;
  std::vector<FoundPiece> pieces;
  std::uint64_t total = 0;
  for (const FunctionSymbol& symbol : ReadFunctionSymbols(symbols)) {
    std::set<std::string> names;
    matcher.Match(WithoutCloneSuffix(symbol.name), names);
    if (names.empty()) continue;
    const auto [place, fresh] = known.try_emplace({symbol.section, symbol.offset}, pieces.size());
    if (!fresh) {
      pieces[place->second].names.merge(names);
      continue;
    }
    std::optional<CodePiece> piece = reader.Piece(symbols.sections()[symbol.section - 1], symbol);
    if (!piece || total + piece->bytes.size() > kMostBytes) piece = CodePiece{};
    total += piece->bytes.size();
    pieces.push_back({.symbol = symbol.name, .names = std::move(names), .code = std::move(*piece)});
  }
  return pieces;
}

// The part that `.cold` code was split from; it has the prologue of both.
std::string_view HotName(std::string_view symbol) {
  const std::size_t cold = symbol.find(kCold);
  return cold == std::string_view::npos ? symbol : symbol.substr(0, cold);
}

std::vector<Operand> DecodePieces(const std::vector<FoundPiece>& pieces, OperandDecoder& decoder) {
  std::set<std::string_view> framed;
  for (const FoundPiece& piece : pieces) {
    if (decoder.UsesFramePointer(piece.code.bytes)) framed.insert(HotName(piece.symbol));
  }
  std::set<Operand> operands;
  for (const FoundPiece& piece : pieces) {
    const bool cold = HotName(piece.symbol) != piece.symbol;
    const bool own_frame = decoder.UsesFramePointer(piece.code.bytes);
    std::set<MemoryAccess> accesses;
    decoder.Decode(piece.code, own_frame || (cold && framed.contains(HotName(piece.symbol))), accesses);
    for (const std::string& name : piece.names) {
      for (const MemoryAccess& access : accesses) operands.insert({.function = name, .access = access});
    }
  }
  return {operands.begin(), operands.end()};
}

}  // namespace

std::unique_ptr<OperandDecoder> MakeOperandDecoder(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return MakeX86Decoder();
    case EM_AARCH64:
      return MakeArm64Decoder();
    default:
      return nullptr;
  }
}

std::vector<Operand> ReadOperands(const std::string& path, const FunctionFilter& filter,
                                  const std::vector<std::string>& debug_directories) {
  ElfFile code = ElfFile::Open(path);
  const std::unique_ptr<OperandDecoder> decoder = MakeOperandDecoder(code.header().machine);
  if (decoder == nullptr) return {};
  const NameMatcher matcher(filter);
  if (!HasSymbolTable(code)) {
    if (const std::optional<std::string> found = FindDebugFile(code, debug_directories)) {
      ElfFile symbols = ElfFile::Open(*found);
      return DecodePieces(FindPieces(symbols, code, matcher), *decoder);
    }
  }
  return DecodePieces(FindPieces(code, code, matcher), *decoder);
}

}  // namespace linesmith
