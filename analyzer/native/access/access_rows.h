// SPDX-License-Identifier: GPL-2.0-or-later
// The accesses that one worker has found, with the function, inline chain and line of each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "access/access_map.h"
#include "dwarf/unit_context.h"
#include "inference/type_inference.h"
#include "program/function_facts.h"

namespace linesmith {

// Texts by number; "" is 0.
class TextTable {
 public:
  TextTable() { NumberOf(""); }

  std::uint32_t NumberOf(const std::string& text);
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// An access by the numbers of one worker.
struct AccessRow {
  std::uint64_t address = 0;
  std::uint32_t function = 0;
  std::uint32_t chain = 0;  // its names, separated by newlines
  std::uint32_t file = 0;
  std::uint32_t line = 0;
  std::uint32_t type = 0;  // TypeId of the worker's graph
  std::uint32_t variable = 0;
  std::int32_t offset = 0;
  std::uint16_t width = 0;
  AccessKind kind = AccessKind::kRead;
  Outcome outcome = Outcome::kUnknown;
};

// A function whose accesses are rows [first, last).
struct RowFunction {
  std::string name;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  std::uint32_t unit = 0;  // Unit::index; of functions without debug information behind all units
  std::size_t first = 0;
  std::size_t last = 0;
};

struct RowTable {
  std::vector<AccessRow> rows;
  std::vector<RowFunction> functions;
};

class AccessRows {
 public:
  // What follows is in `unit`, whose line table is in `facts`; null for code without debug information.
  void EnterUnit(UnitContext* unit, const UnitFacts* facts);
  // `accesses` ascend by address.
  void Add(const RowFunction& function, const FunctionFacts* facts,
           const std::vector<InferredAccess>& accesses);

  const RowTable& accesses() const { return accesses_; }
  const RowTable& handed() const { return handed_; }
  const TextTable& chains() const { return chains_; }
  const TextTable& files() const { return files_; }
  const TextTable& variables() const { return variables_; }

 private:
  void SetLine(AccessRow& row);
  std::uint32_t FileOf(std::uint32_t number);

  RowTable accesses_;
  RowTable handed_;  // `variable` is who gets the address
  TextTable chains_;
  TextTable files_;
  TextTable variables_;
  UnitContext* unit_ = nullptr;
  const UnitFacts* facts_ = nullptr;
  std::unordered_map<std::uint32_t, std::uint32_t> unit_files_;
};

// Which inlined code an address of a function belongs to.

// Asked by ascending addresses.
class InlineChains {
 public:
  explicit InlineChains(const std::vector<InlinedCall>& inlined);

  // Position of the innermost call that covers `address`; -1 for the function's own code.
  std::int32_t InnermostAt(std::uint64_t address);
  // Names from the outermost call to `call`, separated by newlines.
  std::string NamesOf(std::int32_t call) const;

 private:
  struct Span {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::int32_t call = -1;
  };

  const std::vector<InlinedCall>& inlined_;
  std::vector<Span> spans_;  // by ascending low, outer calls first
  std::size_t next_ = 0;
  std::vector<Span> open_;  // innermost last
};

}  // namespace linesmith
