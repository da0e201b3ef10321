// SPDX-License-Identifier: GPL-2.0-or-later
// What a dynamic linker will fill in: which function each stub of a procedure linkage table leads to, and
// what the words of a global offset table hold.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/elf_file.h"
#include "program/image_sections.h"

namespace linesmith {

// Code that jumps on to a function of another file, or the room that stands for what another file defines.
struct LinkStub {
  std::string_view name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

// Words of the global offset table that lead to a thread's variable: kOffset holds what to add to the thread
// pointer; the others are given by their address to a function that returns the variable's address, or (a
// descriptor) what to add to the thread pointer.
enum class ThreadLink : std::uint8_t { kOffset, kModule, kDescriptor };

struct ThreadSlot {
  std::uint64_t address = 0;
  std::uint64_t offset = 0;  // of the variable in the thread's block
  ThreadLink kind = ThreadLink::kOffset;
};

// Variables and functions of other files get addresses of their own, behind the last section and `room` bytes
// apart.
struct DynamicLinks {
  std::vector<LinkStub> stubs;
  std::vector<LinkStub> foreign;
  // Addresses of words that are filled in, and the addresses that they hold; ascending.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> words;
  std::vector<ThreadSlot> thread_slots;  // by ascending address
};

// Of linked x86-64 and arm64 files; empty for others. Throws Error("ElfError").
DynamicLinks ReadDynamicLinks(ElfFile& elf, const ImageSections& sections);

}  // namespace linesmith
