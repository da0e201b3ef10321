// SPDX-License-Identifier: GPL-2.0-or-later
// The allocated sections of a file by address.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elf/elf_file.h"
#include "program/address_range.h"

namespace linesmith {

struct ImageSection {
  AddressRange range;
  Bytes bytes;  // empty for sections of zeroes; as long as the range otherwise
  bool code = false;
  std::string_view name;
};

// Lives no longer than the ElfFile.
class ImageSections {
 public:
  // Throws Error("ElfError").
  explicit ImageSections(ElfFile& elf);

  bool little_endian() const { return little_endian_; }
  const std::vector<ImageSection>& sections() const { return sections_; }
  // The section that holds `address`; null where there is none.
  const ImageSection* Find(std::uint64_t address) const;
  // The first one of that name; null where there is none.
  const ImageSection* Named(std::string_view name) const;
  Bytes At(std::uint64_t address) const;
  bool IsCode(std::uint64_t address) const;

 private:
  bool little_endian_;
  std::vector<ImageSection> sections_;  // by ascending address
};

}  // namespace linesmith
