// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/access_map.h"

#include <dwarf.h>

#include <algorithm>
#include <atomic>
#include <optional>

#include "access/access_merge.h"
#include "access/access_rows.h"
#include "access/program_index.h"
#include "access/static_variables.h"
#include "base/worker_crew.h"
#include "elf/debug_search.h"
#include "inference/outer_types.h"
#include "inference/type_inference.h"
#include "layouts/record_scan.h"

namespace linesmith {
namespace {

// Functions without debug information that one job looks at.
constexpr std::size_t kFunctionsOfJob = 256;
constexpr std::uint64_t kLargestFunction = 16 << 20;
// Functions of sound files hardly overlap; a made-up file could describe its code again and again.
constexpr std::uint64_t kMostDescriptions = 8;

// What all workers share and nobody changes, but for the budget.
struct Program {
  const DebugInfo& info;
  const ProgramImage& image;
  const ProgramIndex& index;
  const ForeignNames& names;
  std::atomic<std::int64_t> bytes_left;
};

// A function of the unit that is being mapped.
struct MappedFunction {
  const FunctionFacts* facts = nullptr;
  std::vector<CodeRange> code;
  std::vector<InferredAccess> accesses;
  std::uint32_t learnt = 0;  // OuterTypes::learnt() when the accesses were found
};

// One worker of the second pass.
class Mapper {
 public:
  explicit Mapper(Program& program)
      : program_(program),
        pool_(program.info),
        graph_(pool_),
        knowledge_(program.index),
        decoder_(MakeInstructionDecoder(program.image.machine(), program.image.is_kernel())) {
    pool_.Restart(program.names);
  }

  void MapUnit(const Unit& unit);
  void MapUndescribed(const ImageSymbol& function, std::uint32_t unit);
  const std::vector<AddressRange>& described() const { return described_; }
  WorkerRows Rows(const RowTable& (AccessRows::*table)() const) {
    return {&rows_, &(rows_.*table)(), &graph_, &pool_};
  }

 private:
  static void Infer(MappedFunction& function, bool typed, TypeInference& inference);
  static bool MayKnowMore(const MappedFunction& function, TypeInference& inference);
  void AddRows(const MappedFunction& mapped, const Unit& unit);
  std::vector<CodeRange> CodeOf(const std::vector<AddressRange>& ranges);

  Program& program_;
  UnitPool pool_;
  TypeGraph graph_;
  WorkerKnowledge knowledge_;
  std::unique_ptr<InstructionDecoder> decoder_;
  AccessRows rows_;
  std::vector<AddressRange> described_;
};

using Crew = std::vector<std::unique_ptr<Mapper>>;

std::vector<CodeRange> Mapper::CodeOf(const std::vector<AddressRange>& ranges) {
  std::vector<CodeRange> code;
  for (const AddressRange& range : ranges) {
    if (range.low >= range.high || !program_.image.IsCode(range.low)) continue;
    const Bytes bytes = program_.image.At(range.low);
    const std::uint64_t size =
        std::min({range.high - range.low, std::uint64_t{bytes.size()}, kLargestFunction});
    program_.bytes_left -= static_cast<std::int64_t>(size);
    if (program_.bytes_left < 0) break;
    if (size != 0) code.push_back({range.low, bytes.first(size)});
  }
  return code;
}

void Mapper::MapUnit(const Unit& unit) {
  try {
    UnitContext& context = pool_.Open(unit);
    const UnitFacts facts = ReadUnitFacts(context, graph_);
    rows_.EnterUnit(&context, &facts);
    TypeInference inference(*decoder_, graph_, knowledge_);
    inference.outer().EnterUnit(facts.inlined_results);
    const bool typed = context.root().Get(Slot::kLanguage) != DW_LANG_Mips_Assembler;
    std::vector<MappedFunction> mapped;
    for (const FunctionFacts& function : facts.functions) {
      mapped.push_back({.facts = &function, .code = CodeOf(function.ranges), .accesses = {}});
      Infer(mapped.back(), typed, inference);
    }
    for (MappedFunction& function : mapped) {
      if (MayKnowMore(function, inference)) Infer(function, typed, inference);
      AddRows(function, unit);
    }
  } catch (const Truncated&) {
    // A damaged unit costs its own functions.
  }
  rows_.EnterUnit(nullptr, nullptr);
  pool_.Trim();
}

void Mapper::Infer(MappedFunction& function, bool typed, TypeInference& inference) {
  if (function.code.empty()) return;
  function.accesses = inference.Infer(function.code, typed ? function.facts : nullptr);
  function.learnt = inference.outer().learnt();
}

// Functions behind it may have told what lies around its records.
bool Mapper::MayKnowMore(const MappedFunction& function, TypeInference& inference) {
  return function.learnt != inference.outer().learnt() &&
         std::ranges::any_of(function.accesses, [](const InferredAccess& access) {
           return access.outcome == Outcome::kOutside;
         });
}

void Mapper::AddRows(const MappedFunction& mapped, const Unit& unit) {
  const std::vector<CodeRange>& code = mapped.code;
  if (code.empty()) return;
  for (const CodeRange& range : code) {
    described_.push_back({range.address, range.address + range.bytes.size()});
  }
  const RowFunction function{.name = std::string(mapped.facts->name),
                             .low = code.front().address,
                             .high = code.front().address + code.front().bytes.size(),
                             .unit = unit.index};
  rows_.Add(function, mapped.facts, mapped.accesses);
}

void Mapper::MapUndescribed(const ImageSymbol& symbol, std::uint32_t unit) {
  const std::vector<CodeRange> code = CodeOf({{symbol.address, symbol.address + symbol.size}});
  if (code.empty()) return;
  const RowFunction function{.name = std::string(symbol.name),
                             .low = symbol.address,
                             .high = symbol.address + code.front().bytes.size(),
                             .unit = unit};
  rows_.Add(function, nullptr, TypeInference(*decoder_, graph_, knowledge_).Infer(code, nullptr));
}

std::vector<UnitSummary> Summarize(const DebugInfo& info, const RecordScan& scan) {
  std::vector<UnitSummary> summaries(info.units.size());
  RunJobs(static_cast<unsigned>(scan.crew.size()), info.units.size(),
          [&](unsigned worker, std::size_t index) {
            UnitPool& pool = scan.crew[worker]->pool;
            try {
              summaries[index] = ReadUnitSummary(pool.Open(*info.units[index]), pool);
            } catch (const Truncated&) {
              // A damaged unit costs its own names.
            }
            pool.Trim();
          });
  return summaries;
}

// Functions of the symbol table that no unit describes.
std::vector<ImageSymbol> Undescribed(const ProgramImage& image, const Crew& crew) {
  std::vector<AddressRange> described;
  for (const std::unique_ptr<Mapper>& mapper : crew) {
    described.insert(described.end(), mapper->described().begin(), mapper->described().end());
  }
  std::ranges::sort(described, {}, &AddressRange::low);
  std::vector<ImageSymbol> left;
  std::uint64_t covered = 0;  // all described code that begins before `next` ends at or before this
  auto next = described.begin();
  for (const ImageSymbol& symbol : image.functions()) {
    for (; next != described.end() && next->low <= symbol.address; ++next)
      covered = std::max(covered, next->high);
    const std::uint64_t end = symbol.address + symbol.size;
    // arm64 code that can be traced begins with no-ops in front of what DWARF describes.
    const bool within = next != described.end() && next->low < end;
    if (symbol.address < covered || within) continue;
    left.push_back(symbol);
    covered = std::max(covered, end);
  }
  return left;
}

void MapAll(const DebugInfo& info, Program& program, Crew& crew, const Progress& progress) {
  const auto count = static_cast<unsigned>(crew.size());
  std::atomic<std::uint64_t> done{info.bytes};
  RunJobs(count, info.units.size(), [&](unsigned worker, std::size_t index) {
    const Unit& unit = *info.units[index];
    crew[worker]->MapUnit(unit);
    done += unit.end - unit.offset;
    if (worker == 0 && progress) progress(done, 2 * info.bytes);
  });
  const std::vector<ImageSymbol> left = Undescribed(program.image, crew);
  const std::size_t jobs = (left.size() + kFunctionsOfJob - 1) / kFunctionsOfJob;
  RunJobs(count, jobs, [&](unsigned worker, std::size_t job) {
    const std::size_t last = std::min(left.size(), (job + 1) * kFunctionsOfJob);
    for (std::size_t i = job * kFunctionsOfJob; i < last; ++i) {
      crew[worker]->MapUndescribed(left[i], static_cast<std::uint32_t>(info.units.size()));
    }
  });
}

bool HasSymbolTable(const ElfFile& elf) { return elf.Find(".symtab") != nullptr; }

}  // namespace

AccessMap MapAccesses(const std::string& path, const std::vector<std::string>& debug_directories,
                      unsigned threads, const Progress& progress) {
  ElfFile code = ElfFile::Open(path);
  const std::unique_ptr<DebugInfo> info = LoadDebugInfo(path, debug_directories);
  const ProgramImage image(code, HasSymbolTable(code) ? code : info->files.front()->elf());
  if (MakeInstructionDecoder(image.machine(), image.is_kernel()) == nullptr) return {};
  const unsigned count = WorkerCount(threads, info->units.size());
  const auto scan = ScanRecords(*info, count, [&](std::uint64_t done, std::uint64_t total) {
    if (progress) progress(done, 2 * total);
  });
  const ProgramIndex index(image, Summarize(*info, *scan));
  Program program{.info = *info, .image = image, .index = index, .names = scan->names, .bytes_left = 0};
  program.bytes_left = static_cast<std::int64_t>(kMostDescriptions * info->bytes + kLargestFunction);
  Crew crew;
  for (unsigned i = 0; i < count; ++i) crew.push_back(std::make_unique<Mapper>(program));
  MapAll(*info, program, crew, progress);
  const auto merged = [&](const RowTable& (AccessRows::*table)() const) {
    std::vector<WorkerRows> rows;
    for (const std::unique_ptr<Mapper>& mapper : crew) rows.push_back(mapper->Rows(table));
    return MergeRows(rows, scan->set);
  };
  AccessMap map = merged(&AccessRows::accesses);
  map.handed = std::make_shared<const AccessMap>(merged(&AccessRows::handed));
  if (progress) progress(2 * info->bytes, 2 * info->bytes);
  map.statics = StaticVariables(index, *crew.front()->Rows(&AccessRows::accesses).graph, scan->set);
  return map;
}

}  // namespace linesmith
