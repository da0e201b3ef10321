// SPDX-License-Identifier: GPL-2.0-or-later
// The tables that switch statements and computed gotos jump through, found from the code before the jump.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "code/machine_code.h"
#include "program/program_image.h"

namespace linesmith {

class JumpTableFinder {
 public:
  // `instructions` ascend by address and must outlive the finder.
  explicit JumpTableFinder(const std::vector<Instruction>& instructions);

  // The table that the indirect jump at position `jump` reads; nothing where the code does not tell.
  std::optional<JumpTable> Find(std::uint32_t jump);

 private:
  // constant + what varies + `scale` times an entry of a table.
  struct Sum {
    std::uint64_t constant = 0;
    bool varies = false;
    std::uint8_t entry_bytes = 0;  // 0: no table takes part
    std::uint64_t table = 0;
    std::uint8_t scale = 1;
    bool is_signed = false;
  };

  Sum Added(const Sum& one, const Sum& two) const;
  Sum OfRegister(RegisterNumber reg, std::uint32_t before, unsigned depth);
  Sum OfEffect(std::uint32_t position, unsigned depth);
  Sum OfAddress(const Address& address, std::uint32_t before, unsigned depth);
  Sum Loaded(const MemoryUse& use, std::uint32_t before, unsigned depth);

  const std::vector<Instruction>& instructions_;
  std::uint64_t steps_left_;
};

}  // namespace linesmith
