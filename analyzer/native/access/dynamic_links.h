// SPDX-License-Identifier: GPL-2.0-or-later
// What a dynamic linker will fill in: which function each stub of a procedure linkage table leads to, and
// what the words of a global offset table hold.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "access/image_sections.h"
#include "elf_file.h"

namespace linesmith {

// Code that jumps on to a function of another file.
struct LinkStub {
  std::string_view name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

struct DynamicLinks {
  std::vector<LinkStub> stubs;
  // Addresses of words that are filled in, and the addresses of this file's own that they hold; ascending.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> words;
};

// Of linked x86-64 and arm64 files; empty for others. Throws Error("ElfError").
DynamicLinks ReadDynamicLinks(ElfFile& elf, const ImageSections& sections);

}  // namespace linesmith
