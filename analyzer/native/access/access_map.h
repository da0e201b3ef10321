// SPDX-License-Identifier: GPL-2.0-or-later
// The access map: for every load, store and read-modify-write of a file, which member of which type it
// touches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dwarf/debug_loader.h"
#include "inference/type_inference.h"
#include "layouts/dwarf_reader.h"

namespace linesmith {

constexpr unsigned kOutcomeCount = 16;

// Columns of equal length, one row for each access, by ascending address.
struct AccessColumns {
  std::vector<std::uint64_t> address;   // of the instruction
  std::vector<std::uint32_t> function;  // position in `functions`
  std::vector<std::uint32_t> inlined;   // position in `inline_chains`; 0: not inlined
  std::vector<std::uint32_t> file;      // position in `files`
  std::vector<std::uint32_t> line;      // 0: not known
  std::vector<std::uint32_t> type;      // position in `types`; 0: none
  std::vector<std::int32_t> offset;     // bytes into the type
  std::vector<std::uint16_t> width;     // bytes; 0: not known
  std::vector<std::uint8_t> kind;       // AccessKind
  std::vector<std::uint8_t> outcome;    // Outcome
  std::vector<std::uint32_t> variable;  // position in `variables`: the global or per-CPU one; 0: none
};

// An outermost type that something accesses.
struct AccessedType {
  std::string name;          // as C names it: "struct inode", "int"
  std::int64_t layout = -1;  // id of the record in the reading of the same file; -1: no record
  std::uint64_t size = 0;    // bytes
};

struct AccessedFunction {
  std::string name;
  std::uint64_t low = 0;  // of its first range
  std::uint64_t high = 0;
  std::uint64_t accesses = 0;
};

// A variable with static storage. `bytes` is 0 for an open array; what it is an array of, or the variable
// itself, has `element_bytes` and, if it is a record, the id `layout` in the reading of the same file.
struct StaticVariable {
  std::string name;           // without its scope
  std::uint64_t address = 0;  // of a thread's variable: its offset in the thread's block
  std::uint64_t bytes = 0;
  std::uint64_t element_bytes = 0;
  std::int64_t layout = -1;  // -1: no record
  bool of_thread = false;
};

struct AccessMap {
  AccessColumns columns;
  std::vector<AccessedFunction> functions;
  std::vector<std::vector<std::string>> inline_chains;  // outermost inlined function first; [0] is empty
  std::vector<std::string> files;                       // [0] is ""
  std::vector<AccessedType> types;                      // [0] is none
  std::vector<std::string> variables;                   // [0] is ""
  std::vector<StaticVariable> statics;                  // by ascending address, those of threads last
  // Calls that hand on the address of a member instead of accesses; `variables` are who gets it.
  std::shared_ptr<const AccessMap> handed;
};

// Maps the accesses of `path`, with the debug information found for it, on `threads` threads (0: all).
// Throws Error: ElfError, DebugInfoMissing, DebugInfoDamaged.
AccessMap MapAccesses(const std::string& path, const std::vector<std::string>& debug_directories,
                      unsigned threads, const Progress& progress);

}  // namespace linesmith
