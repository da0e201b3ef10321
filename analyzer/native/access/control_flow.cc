// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/control_flow.h"

#include <algorithm>

#include "access/called_function.h"

namespace linesmith {
namespace {

constexpr unsigned kMostTargets = 4096;
// How far before an indirect jump the computation of its target is looked for.
constexpr std::uint32_t kJumpWindow = 24;
constexpr std::uint32_t kTableWindow = 400;
constexpr unsigned kOffsetBytes = 4;
constexpr unsigned kAddressBytes = 8;

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

bool Writes(const Instruction& instruction, RegisterNumber reg) {
  const bool effect = instruction.effect != Effect::kNone && instruction.target == reg;
  return effect || (instruction.clobbered >> reg & 1) != 0;
}

}  // namespace

ControlFlow::ControlFlow(const std::vector<Instruction>& instructions, std::uint64_t entry,
                         const ProgramImage& image)
    : instructions_(instructions), image_(image) {
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
  for (std::uint32_t i = 0; i < instructions_.size(); ++i) {
    if (instructions_[i].flow != Flow::kIndirectJump) continue;
    std::vector<std::uint64_t> targets = TableTargets(i);
    if (!targets.empty()) tables_.push_back({i, std::move(targets)});
  }
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
    for (const std::uint64_t target : table.targets) mark(target);
  }
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
      return !NeverReturns(image_, instruction.destination);
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
  if (table == tables_.end() || table->jump != end) return;
  std::vector<std::uint64_t> targets = table->targets;
  std::ranges::sort(targets);
  const auto repeated = std::ranges::unique(targets);
  targets.erase(repeated.begin(), repeated.end());
  for (const std::uint64_t target : targets) AddEdge(block, target);
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

// The constant that `reg` was last given before an instruction, in the order of addresses; 0: none found.
std::uint64_t ControlFlow::ConstantOf(RegisterNumber reg, std::uint32_t before) const {
  const std::uint32_t stop = before > kTableWindow ? before - kTableWindow : 0;
  for (std::uint32_t i = before; i-- > stop;) {
    const Instruction& instruction = instructions_[i];
    if (!Writes(instruction, reg)) continue;
    return instruction.effect == Effect::kConstant ? static_cast<std::uint64_t>(instruction.constant) : 0;
  }
  return 0;
}

// Tables of addresses are read by the jump itself or by the load before it; tables of offsets by a load, to
// which the table's own address is then added.
std::vector<std::uint64_t> ControlFlow::TableTargets(std::uint32_t jump) const {
  const std::uint64_t low = instructions_.front().address;
  const std::uint64_t high = instructions_.back().address + instructions_.back().length;
  const auto read = [&](std::uint64_t table, unsigned bytes) {
    return image_.JumpTable(table, bytes, low, high, kMostTargets);
  };
  const auto table_of = [&](const Address& address, std::uint32_t place) -> std::uint64_t {
    if (address.index == kNoRegister) return 0;
    if (address.base == kNoRegister) return static_cast<std::uint64_t>(address.displacement);
    return ConstantOf(address.base, place);
  };
  const std::uint32_t stop = jump > kJumpWindow ? jump - kJumpWindow : 0;
  for (std::uint32_t i = jump + 1; i-- > stop;) {
    const Instruction& instruction = instructions_[i];
    if (i != jump && EndsBlock(instruction.flow) && instruction.flow != Flow::kBranch) break;
    if (instruction.use_count == 0 || (i != jump && instruction.effect != Effect::kLoad)) continue;
    const Address& address = instruction.uses[0].address;
    const bool offsets = instruction.uses[0].width == kOffsetBytes && address.scale == kOffsetBytes;
    const bool addresses = instruction.uses[0].width == kAddressBytes && address.scale == kAddressBytes;
    if (!offsets && !addresses) continue;
    const std::uint64_t table = table_of(address, i);
    if (table != 0) return read(table, offsets ? kOffsetBytes : kAddressBytes);
  }
  return {};
}

}  // namespace linesmith
