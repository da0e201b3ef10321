// SPDX-License-Identifier: GPL-2.0-or-later
// Relocations of debug sections in relocatable objects (.o, .ko): plain stores, sums and differences only.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <vector>

namespace linesmith {

struct ElfHeader;
struct ElfSection;

// Applies the SHT_RELA or SHT_REL section `table` to `bytes`. Types that never reach data which the readers
// look at (addresses of code) are left alone. False when the table, its symbols or an offset is damaged.
bool ApplyRelocations(Elf* elf, const ElfSection& table, const ElfHeader& header,
                      std::vector<std::uint8_t>& bytes);

}  // namespace linesmith
