// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/program_image.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "elf/byte_cursor.h"
#include "elf/symbol_table.h"
#include "program/call_effects.h"
#include "program/dynamic_links.h"
#include "program/image_sections.h"
#include "program/patched_code.h"

namespace linesmith {
namespace {

// How many symbols that begin before an address are asked whether they cover it.
constexpr int kMostOverlaps = 16;
constexpr std::uint64_t kArm64ThreadHeader = 16;
constexpr unsigned kWordBits = 64;
constexpr std::string_view kPerCpuSection = ".data..percpu";
constexpr std::string_view kStubSections = ".plt";
constexpr std::string_view kParavirtOperations = "pv_ops";

constexpr auto kKernelSections = std::to_array<std::string_view>({
    ".modinfo",
    ".gnu.linkonce.this_module",
    "__ksymtab",
    "__ksymtab_gpl",
    "__ex_table",
    "__bug_table",
    "__mcount_loc",
    "__jump_table",
    ".altinstructions",
    ".smp_locks",
    ".return_sites",
    ".init.text",
    kPerCpuSection,
});

bool IsKernel(const ElfFile& elf) {
  return std::ranges::any_of(elf.sections(), [](const ElfSection& section) {
    return std::ranges::find(kKernelSections, section.name) != kKernelSections.end();
  });
}

SymbolTable ReadSymbols(const ElfFile& elf) {
  const ElfSection* table = FindSymbolTable(elf);
  return table != nullptr ? ReadSymbolTable(elf, *table) : SymbolTable{};
}

bool HasPlace(const ElfSymbol& symbol) {
  return !symbol.name.empty() && symbol.type != STT_TLS && symbol.type != STT_SECTION &&
         symbol.type != STT_FILE && symbol.section != SHN_UNDEF && symbol.section < kSpecialSections;
}

bool IsOfOtherFile(const ElfSymbol& symbol, std::uint64_t room) {
  return room != 0 && !symbol.name.empty() &&
         (symbol.section == SHN_UNDEF || symbol.section == kSpecialSections + SHN_COMMON);
}

std::vector<ImageSymbol> CoveringSymbols(const SymbolTable& table, const DynamicLinks& links) {
  std::vector<ImageSymbol> symbols;
  for (const LinkStub& stub : links.stubs) {
    symbols.push_back({.name = stub.name, .address = stub.address, .size = stub.size, .is_function = true});
  }
  for (const LinkStub& foreign : links.foreign) {
    symbols.push_back({.name = foreign.name, .address = foreign.address, .size = foreign.size});
  }
  for (const ElfSymbol& symbol : table.symbols) {
    const bool other = IsOfOtherFile(symbol, table.room);
    const std::uint64_t size = other ? table.room : symbol.size;
    if (size == 0 || !(other || HasPlace(symbol))) continue;
    symbols.push_back({.name = symbol.name,
                       .address = symbol.address,
                       .size = size,
                       .is_function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC});
  }
  for (ImageSymbol& symbol : symbols) symbol.name = symbol.name.substr(0, symbol.name.find('@'));
  std::ranges::stable_sort(symbols, [](const ImageSymbol& a, const ImageSymbol& b) {
    return a.address != b.address ? a.address < b.address : a.size > b.size;
  });
  return symbols;
}

std::vector<ImageSymbol> Functions(const std::vector<ImageSymbol>& symbols, const ImageSections& sections) {
  std::vector<ImageSymbol> functions;
  for (const ImageSymbol& symbol : symbols) {
    const ImageSection* section = sections.Find(symbol.address);
    if (!symbol.is_function || section == nullptr || !section->code) continue;
    if (section->name.starts_with(kStubSections)) continue;
    const bool alias = !functions.empty() && functions.back().address == symbol.address &&
                       functions.back().size == symbol.size;
    if (!alias) functions.push_back(symbol);
  }
  return functions;
}

// Where variables of the thread's block lie: `end` is the block's size up to its alignment.
struct ThreadBlock {
  std::uint64_t end = 0;
  std::uint64_t alignment = 1;
};

ThreadBlock FindThreadBlock(const ElfFile& elf, const SymbolTable& table) {
  if (elf.header().type == ET_REL) return {.end = table.thread_bytes};
  std::uint64_t first = ~std::uint64_t{0};
  std::uint64_t last = 0;
  std::uint64_t alignment = 1;
  for (const ElfSection& section : elf.sections()) {
    if ((section.flags & SHF_TLS) == 0 || (section.flags & SHF_ALLOC) == 0) continue;
    first = std::min(first, section.address);
    last = std::max(last, section.address + section.size);
    alignment = std::max(alignment, section.alignment);
  }
  const std::uint64_t padding = (alignment - last % alignment) % alignment;
  return {.end = last > first ? last - first + padding : 0, .alignment = alignment};
}

}  // namespace

struct ProgramImage::State {
  State(ElfFile& code, ElfFile& symbol_file)
      : machine(code.header().machine),
        kernel(IsKernel(code)),
        sections(code),
        table(ReadSymbols(code.header().type == ET_REL ? code : symbol_file)),
        links(ReadDynamicLinks(code, sections)),
        symbols(CoveringSymbols(table, links)),
        functions(Functions(symbols, sections)),
        patched(ReadPatchedCode(sections, machine, table.symbols)),
        thread_block(FindThreadBlock(code, table)) {
    for (const ElfSection& section : code.sections()) places.push_back(section.place);
    for (const ImageSymbol& symbol : symbols) names.try_emplace(symbol.name, symbol.address);
    for (const ElfSymbol& symbol : table.symbols) {
      if (symbol.type == STT_TLS && symbol.section != SHN_UNDEF)
        thread_names.emplace(symbol.name, symbol.address);
    }
    if (const ImageSection* found = sections.Named(kPerCpuSection)) percpu = found->range;
  }

  std::uint16_t machine;
  bool kernel;
  ImageSections sections;
  SymbolTable table;
  DynamicLinks links;
  std::vector<ImageSymbol> symbols;  // by ascending address, larger ones first
  std::vector<ImageSymbol> functions;
  PatchedCode patched;
  ThreadBlock thread_block;
  AddressRange percpu;
  std::vector<std::uint64_t> places;  // of section i + 1
  std::unordered_map<std::string_view, std::uint64_t> names;
  std::unordered_multimap<std::string_view, std::uint64_t> thread_names;
};

ProgramImage::ProgramImage(ElfFile& code, ElfFile& symbols)
    : state_(std::make_unique<State>(code, symbols)) {}

ProgramImage::~ProgramImage() = default;

std::uint16_t ProgramImage::machine() const { return state_->machine; }
bool ProgramImage::is_kernel() const { return state_->kernel; }
Bytes ProgramImage::At(std::uint64_t address) const { return state_->sections.At(address); }
bool ProgramImage::IsCode(std::uint64_t address) const { return state_->sections.IsCode(address); }
const std::vector<ImageSymbol>& ProgramImage::functions() const { return state_->functions; }
std::uint64_t ProgramImage::percpu_first() const { return state_->percpu.low; }
std::uint64_t ProgramImage::percpu_last() const { return state_->percpu.high; }

const ImageSymbol* ProgramImage::SymbolAt(std::uint64_t address) const {
  const std::vector<ImageSymbol>& symbols = state_->symbols;
  auto next = std::ranges::upper_bound(symbols, address, {}, &ImageSymbol::address);
  for (int i = 0; i < kMostOverlaps && next != symbols.begin(); ++i) {
    --next;
    if (address - next->address < next->size) return &*next;
  }
  return nullptr;
}

std::uint64_t ProgramImage::AddressOfSymbol(std::string_view name) const {
  const auto found = state_->names.find(name);
  return found != state_->names.end() ? found->second : 0;
}

std::optional<std::uint64_t> ProgramImage::ThreadSymbol(std::string_view name) const {
  if (state_->thread_names.count(name) != 1) return std::nullopt;
  return state_->thread_names.find(name)->second;
}

std::uint64_t ProgramImage::LinkedWord(std::uint64_t address) const {
  const auto& words = state_->links.words;
  const auto found = std::ranges::lower_bound(words, std::pair{address, std::uint64_t{0}});
  return found != words.end() && found->first == address ? found->second : 0;
}

// The block of x86-64 ends at the thread pointer, that of arm64 follows two words behind it, or where its
// alignment allows it.
std::uint64_t ProgramImage::ThreadOffset(std::int64_t displacement) const {
  const auto offset = static_cast<std::uint64_t>(displacement);
  const ThreadBlock& block = state_->thread_block;
  return state_->machine == EM_AARCH64 ? offset - std::max(kArm64ThreadHeader, block.alignment)
                                       : offset + block.end;
}

std::optional<ThreadDistance> ProgramImage::ThreadSlotAt(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(state_->links.thread_slots, address, {}, &ThreadSlot::address);
  if (found == state_->links.thread_slots.end() || found->address != address) return std::nullopt;
  const std::uint64_t before_block = ThreadOffset(0);
  return ThreadDistance{.bytes = static_cast<std::int64_t>(found->offset - before_block),
                        .link = found->kind};
}

std::optional<std::int64_t> ProgramImage::FixedWord(std::uint64_t address) const {
  const ImageSection* section = state_->sections.Find(address);
  if (section == nullptr) return std::nullopt;
  if (!section->name.starts_with(".got") && !section->name.starts_with(".data.rel.ro")) return std::nullopt;
  const std::optional<ThreadDistance> thread = ThreadSlotAt(address);
  if (thread && thread->link == ThreadLink::kOffset) return thread->bytes;
  const std::uint64_t linked = LinkedWord(address);
  return linked != 0 ? std::optional(static_cast<std::int64_t>(linked)) : std::nullopt;
}

std::uint64_t ProgramImage::CalleeOf(const Instruction& call) const {
  if (call.flow == Flow::kCall) return call.destination;
  const bool fixed = call.flow == Flow::kIndirectCall && call.use_count > 0 && call.uses[0].address.absolute;
  if (!fixed || call.uses[0].address.segment != Segment::kNone) return 0;
  return static_cast<std::uint64_t>(
      FixedWord(static_cast<std::uint64_t>(call.uses[0].address.displacement)).value_or(0));
}

bool ProgramImage::IsPatched(std::uint64_t address) const {
  const std::vector<AddressRange>& ranges = state_->patched.ranges;
  const auto next = std::ranges::upper_bound(ranges, address, {}, &AddressRange::low);
  return next != ranges.begin() && address < std::prev(next)->high;
}

std::uint64_t ProgramImage::SideExit(std::uint64_t address) const {
  const auto& exits = state_->patched.side_exits;
  const auto found = std::ranges::lower_bound(exits, std::pair{address, std::uint64_t{0}});
  return found != exits.end() && found->first == address ? found->second : 0;
}

bool ProgramImage::ComesBack(std::uint64_t address) const {
  return std::ranges::binary_search(state_->patched.warnings, address);
}

std::uint32_t ProgramImage::ChangedByCall(const Instruction& call,
                                          const CallingConvention& convention) const {
  const std::uint32_t ordinary = ~convention.kept_by_callee;
  if (const std::uint64_t destination = CalleeOf(call); destination != 0) {
    const ImageSymbol* callee = SymbolAt(destination);
    if (callee == nullptr) return ordinary;
    return ChangedByFunction(state_->machine, callee->name).value_or(ordinary);
  }
  if (call.use_count == 0 || !call.uses[0].address.absolute) return ordinary;
  const auto slot = static_cast<std::uint64_t>(call.uses[0].address.displacement);
  const ImageSymbol* operations = SymbolAt(slot);
  const Bytes pointer = At(slot);
  if (operations == nullptr || operations->name != kParavirtOperations || pointer.size() < 8) return ordinary;
  const ImageSymbol* callee = SymbolAt(ByteCursor(pointer, state_->sections.little_endian()).U64());
  return callee != nullptr ? ChangedByParavirt(callee->name).value_or(ordinary) : ordinary;
}

std::uint64_t ProgramImage::AddressOf(std::size_t section_index) const {
  return section_index > 0 && section_index <= state_->places.size() ? state_->places[section_index - 1] : 0;
}

std::uint64_t ProgramImage::JumpTarget(const JumpTable& table, std::uint64_t number) const {
  const std::uint64_t place = table.address + number * table.entry_bytes;
  const Bytes bytes = At(place);
  if (bytes.size() < table.entry_bytes) return 0;
  std::uint64_t entry = ByteCursor(bytes, state_->sections.little_endian()).Unsigned(table.entry_bytes);
  if (table.entry_bytes == kAddressBytes) {
    const std::uint64_t linked = LinkedWord(place);
    return linked != 0 ? linked : entry;
  }
  const unsigned unused = kWordBits - 8 * table.entry_bytes;
  if (table.is_signed)
    entry = static_cast<std::uint64_t>(static_cast<std::int64_t>(entry << unused) >> unused);
  return table.base + entry * table.scale;
}

}  // namespace linesmith
