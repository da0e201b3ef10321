// SPDX-License-Identifier: GPL-2.0-or-later
#include "inference/control_flow.h"

#include <algorithm>

#include "program/jump_tables.h"

namespace linesmith {
namespace {

constexpr std::uint64_t kMostTargets = 4096;
// Of all tables of a function: a made-up one could jump through a large table everywhere.
constexpr std::uint64_t kMostEntries = std::uint64_t{1} << 20;

bool EndsBlock(Flow flow) {
  switch (flow) {
    case Flow::kNext:
    case Flow::kCall:
    case Flow::kIndirectCall:
      return false;
    default:
      return true;
  }
}

}  // namespace

ControlFlow::ControlFlow(const std::vector<Instruction>& instructions, std::uint64_t entry,
                         const ProgramKnowledge& program)
    : instructions_(instructions), program_(program), image_(program.image()) {
  if (instructions.empty()) return;
  FindTables();
  std::vector<bool> leaders(instructions.size(), false);
  leaders[0] = true;
  if (const std::uint32_t first = At(entry); first < instructions.size()) leaders[first] = true;
  FindLeaders(leaders);
  block_of_.resize(instructions.size());
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    if (leaders[i]) blocks_.push_back({.first = i, .last = i, .successors = {}});
    blocks_.back().last = i + 1;
    block_of_[i] = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) Link(block);
  const std::uint32_t first = At(entry);
  entry_ = first < instructions.size() ? block_of_[first] : 0;
  Order();
}

std::uint32_t ControlFlow::At(std::uint64_t address) const {
  const auto found = std::ranges::lower_bound(instructions_, address, {}, &Instruction::address);
  const bool here = found != instructions_.end() && found->address == address;
  return static_cast<std::uint32_t>(here ? found - instructions_.begin() : instructions_.size());
}

void ControlFlow::FindTables() {
  JumpTableFinder finder(instructions_);
  std::vector<std::pair<std::uint32_t, JumpTable>> found;
  std::vector<std::uint64_t> starts;
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    if (instructions_[i].flow != Flow::kIndirectJump) continue;
    const std::optional<JumpTable> table = finder.Find(i);
    if (!table) continue;
    found.emplace_back(i, *table);
    starts.push_back(table->address);
  }
  std::ranges::sort(starts);
  std::uint64_t left = kMostEntries;
  for (const auto& [jump, table] : found) {
    const auto next = std::ranges::upper_bound(starts, table.address);
    const std::uint64_t bytes = (next != starts.end() ? *next : ~std::uint64_t{0}) - table.address;
    const std::uint64_t most = std::min({kMostTargets, bytes / table.entry_bytes, left});
    left -= most;
    std::vector<std::uint32_t> targets = TargetsOf(table, most);
    if (!targets.empty()) tables_.push_back({jump, std::move(targets)});
  }
}

// Positions of the instructions that the table leads to. It ends where an entry leads elsewhere, at the
// latest where the function's next table begins.
std::vector<std::uint32_t> ControlFlow::TargetsOf(const JumpTable& table, std::uint64_t most) const {
  std::vector<std::uint32_t> targets;
  for (std::uint64_t number = 0; number < most; ++number) {
    const std::uint32_t target = At(image_.JumpTarget(table, number));
    if (target >= instructions_.size()) break;
    targets.push_back(target);
  }
  std::ranges::sort(targets);
  const auto repeated = std::ranges::unique(targets);
  targets.erase(repeated.begin(), repeated.end());
  return targets;
}

void ControlFlow::FindLeaders(std::vector<bool>& leaders) {
  const auto mark = [&](std::uint64_t address) {
    if (const std::uint32_t place = At(address); place < leaders.size()) leaders[place] = true;
  };
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& instruction = instructions_[i];
    const std::uint64_t behind = instruction.address + instruction.length;
    const bool apart = i + 1 < leaders.size() && instructions_[i + 1].address != behind;
    if ((EndsBlock(instruction.flow) || apart || !GoesOn(instruction)) && i + 1 < leaders.size()) {
      leaders[i + 1] = true;
    }
    if (instruction.flow == Flow::kBranch || instruction.flow == Flow::kJump) mark(instruction.destination);
    if (const std::uint64_t side = image_.SideExit(instruction.address); side != 0) {
      mark(side);
      mark(behind);
    }
  }
  for (const Table& table : tables_) {
    for (const std::uint32_t target : table.targets) leaders[target] = true;
  }
}

// Whether another function, or a cold part, begins behind the call: compilers end functions so that never
// come back.
bool ControlFlow::EndsFunction(const Instruction& call) const {
  const std::uint64_t behind = call.address + call.length;
  const ImageSymbol* next = image_.SymbolAt(behind);
  return next != nullptr && next->is_function && next->address == behind;
}

// Whether what comes behind the instruction can run after it.
bool ControlFlow::GoesOn(const Instruction& instruction) const {
  switch (instruction.flow) {
    case Flow::kJump:
    case Flow::kIndirectJump:
    case Flow::kReturn:
      return false;
    case Flow::kStop:
      return image_.ComesBack(instruction.address);
    case Flow::kCall:
    case Flow::kIndirectCall:
      return !program_.NeverReturns(image_.CalleeOf(instruction)) && !EndsFunction(instruction);
    default:
      return true;
  }
}

void ControlFlow::AddEdge(BasicBlock& block, std::uint64_t destination) {
  const std::uint32_t place = At(destination);
  if (place >= instructions_.size()) return;
  const std::uint32_t target = block_of_[place];
  if (blocks_[target].first != place) return;
  if (std::ranges::find(block.successors, target) == block.successors.end())
    block.successors.push_back(target);
}

void ControlFlow::Link(std::uint32_t number) {
  BasicBlock& block = blocks_[number];
  const std::uint32_t end = block.last - 1;
  const Instruction& last = instructions_[end];
  const std::uint64_t side = image_.SideExit(last.address);
  // A static branch is a jump in the file or a no-op; which one runs is decided later.
  if (GoesOn(last) || (side != 0 && last.flow == Flow::kJump)) AddEdge(block, last.address + last.length);
  if (side != 0) AddEdge(block, side);
  if (last.flow == Flow::kBranch || last.flow == Flow::kJump) AddEdge(block, last.destination);
  const auto table = std::ranges::lower_bound(tables_, end, {}, &Table::jump);
  if (table != tables_.end() && table->jump == end) {
    for (const std::uint32_t target : table->targets) block.successors.push_back(block_of_[target]);
  } else if (last.flow == Flow::kIndirectJump) {
    block.leads_anywhere = true;
  }
}

// Depth first, without recursion; the reverse of the order in which blocks are finished.
void ControlFlow::Order() {
  std::vector<bool> seen(blocks_.size(), false);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> path;  // block, next successor
  const auto enter = [&](std::uint32_t block) {
    seen[block] = true;
    path.emplace_back(block, 0);
  };
  const auto walk = [&](std::uint32_t from) {
    const std::size_t start = order_.size();
    enter(from);
    while (!path.empty()) {
      auto& [block, next] = path.back();
      if (next < blocks_[block].successors.size()) {
        const std::uint32_t successor = blocks_[block].successors[next++];
        if (!seen[successor]) enter(successor);
        continue;
      }
      order_.push_back(block);
      path.pop_back();
    }
    std::reverse(order_.begin() + static_cast<std::ptrdiff_t>(start), order_.end());
  };
  walk(entry_);
  for (std::uint32_t block = 0; block < blocks_.size(); ++block) {
    if (!seen[block]) walk(block);
  }
}

}  // namespace linesmith
