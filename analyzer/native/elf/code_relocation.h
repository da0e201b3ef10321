// SPDX-License-Identifier: GPL-2.0-or-later
// Relocations that fill fields of instructions (the psABIs of x86-64 and arm64), as a linker would apply them
// that knows where everything lies: without a global offset table, and thread-local storage in the program's
// own block.
#pragma once

#include <cstdint>

#include "elf/elf_relocation.h"

namespace linesmith {

struct CodeRelocation {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;  // in the section
  std::uint64_t value = 0;   // symbol + addend
  std::uint64_t thread_bytes = 0;
};

constexpr std::size_t kCodeRelocationBytes = 4;

bool IsCodeRelocation(std::uint16_t machine, std::uint32_t type);

// The four bytes at `relocation.offset` must lie in the section.
void ApplyCodeRelocation(const CodeRelocation& relocation, const RelocatedSection& section);

}  // namespace linesmith
