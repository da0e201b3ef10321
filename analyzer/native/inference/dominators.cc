// SPDX-License-Identifier: GPL-2.0-or-later
// After "A Simple, Fast Dominance Algorithm" (Cooper, Harvey, Kennedy; 2001).
#include "inference/dominators.h"

namespace linesmith {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;
// Real functions take two or three rounds; made-up ones must end too, and then nothing is known.
constexpr unsigned kMostRounds = 40;

}  // namespace

Dominators::Dominators(const ControlFlow& flow)
    : position_(flow.blocks().size()),
      parent_(flow.blocks().size(), kNone),
      first_(flow.blocks().size(), 0),
      last_(flow.blocks().size(), 0) {
  for (std::uint32_t i = 0; i < flow.order().size(); ++i) position_[flow.order()[i]] = i;
  FindParents(flow);
  Number(flow);
}

std::uint32_t Dominators::Meet(std::uint32_t one, std::uint32_t two) const {
  while (one != two) {
    if (position_[one] > position_[two]) {
      one = parent_[one];
    } else {
      two = parent_[two];
    }
  }
  return one;
}

void Dominators::FindParents(const ControlFlow& flow) {
  std::vector<std::vector<std::uint32_t>> predecessors(flow.blocks().size());
  for (std::uint32_t block = 0; block < flow.blocks().size(); ++block) {
    for (const std::uint32_t successor : flow.blocks()[block].successors) {
      predecessors[successor].push_back(block);
    }
  }
  parent_[flow.entry()] = flow.entry();
  bool changed = true;
  for (unsigned round = 0; changed; ++round) {
    if (round == kMostRounds) return parent_.assign(parent_.size(), kNone);
    changed = false;
    for (const std::uint32_t block : flow.order()) {
      if (block == flow.entry()) continue;
      std::uint32_t parent = kNone;
      for (const std::uint32_t from : predecessors[block]) {
        if (parent_[from] != kNone) parent = parent == kNone ? from : Meet(parent, from);
      }
      changed |= parent != parent_[block];
      parent_[block] = parent;
    }
  }
}

// Parents come before their children in the flow's order.
void Dominators::Number(const ControlFlow& flow) {
  const std::vector<std::uint32_t>& order = flow.order();
  std::vector<std::uint32_t> blocks(order.size(), 1);  // that each one dominates, itself included
  for (auto block = order.rbegin(); block != order.rend(); ++block) {
    if (parent_[*block] != kNone && parent_[*block] != *block) blocks[parent_[*block]] += blocks[*block];
  }
  std::vector<std::uint32_t> next(order.size(), 0);
  std::uint32_t end = 1;
  for (const std::uint32_t block : order) {
    if (parent_[block] == kNone) continue;
    std::uint32_t& start = parent_[block] == block ? end : next[parent_[block]];
    first_[block] = start;
    start += blocks[block];
    last_[block] = start;
    next[block] = first_[block] + 1;
  }
}

bool Dominators::Passes(std::uint32_t through, std::uint32_t to) const {
  return first_[through] != 0 && first_[to] >= first_[through] && first_[to] < last_[through];
}

}  // namespace linesmith
