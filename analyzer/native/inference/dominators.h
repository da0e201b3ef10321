// SPDX-License-Identifier: GPL-2.0-or-later
// Which blocks of a function every path from its entry to another block passes.
#pragma once

#include <cstdint>
#include <vector>

#include "inference/control_flow.h"

namespace linesmith {

class Dominators {
 public:
  explicit Dominators(const ControlFlow& flow);

  // Whether every path from the entry to `to` passes `through`; a block passes itself. False for blocks that
  // no path from the entry leads to.
  bool Passes(std::uint32_t through, std::uint32_t to) const;

 private:
  void FindParents(const ControlFlow& flow);
  void Number(const ControlFlow& flow);
  std::uint32_t Meet(std::uint32_t one, std::uint32_t two) const;

  std::vector<std::uint32_t> position_;  // in the flow's order, by block
  std::vector<std::uint32_t> parent_;    // immediate dominator, by block
  // Blocks that a block dominates are numbered [first_, last_).
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> last_;
};

}  // namespace linesmith
