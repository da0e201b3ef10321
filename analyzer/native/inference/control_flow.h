// SPDX-License-Identifier: GPL-2.0-or-later
// Basic blocks of a function and where control goes between them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "code/machine_code.h"
#include "inference/type_inference.h"

namespace linesmith {

// Instructions [first, last) that run one after the other.
struct BasicBlock {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::vector<std::uint32_t> successors;
  bool leads_anywhere = false;  // ends with an indirect jump whose targets are not known
};

class ControlFlow {
 public:
  // `instructions` ascend by address and must outlive the graph; `entry` is the function's first address.
  ControlFlow(const std::vector<Instruction>& instructions, std::uint64_t entry,
              const ProgramKnowledge& program);

  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  // Blocks in the order that a forward analysis should take: the entry first, then such that most edges lead
  // on; what no edge leads to comes last, by address.
  const std::vector<std::uint32_t>& order() const { return order_; }
  // Block that begins with the entry; blocks() is never empty when there are instructions.
  std::uint32_t entry() const { return entry_; }

 private:
  void FindLeaders(std::vector<bool>& leaders);
  void FindTables();
  void Link(std::uint32_t block);
  void Order();
  void AddEdge(BasicBlock& block, std::uint64_t destination);
  std::vector<std::uint32_t> TargetsOf(const JumpTable& table, std::uint64_t most) const;
  bool GoesOn(const Instruction& instruction) const;
  bool EndsFunction(const Instruction& call) const;
  // Position of the instruction at `address`; instructions_.size() where none begins.
  std::uint32_t At(std::uint64_t address) const;

  // Where an indirect jump leads to, by positions of instructions.
  struct Table {
    std::uint32_t jump = 0;
    std::vector<std::uint32_t> targets;
  };

  const std::vector<Instruction>& instructions_;
  const ProgramKnowledge& program_;
  const ProgramImage& image_;
  std::vector<BasicBlock> blocks_;
  std::vector<std::uint32_t> block_of_;  // by instruction
  std::vector<std::uint32_t> order_;
  std::vector<Table> tables_;
  std::uint32_t entry_ = 0;
};

}  // namespace linesmith
