// SPDX-License-Identifier: GPL-2.0-or-later
#include "program/image_sections.h"

#include <elf.h>

#include <algorithm>

namespace linesmith {
namespace {

bool IsLoaded(const ElfSection& section) {
  return (section.flags & SHF_ALLOC) != 0 && section.size > 0 &&
         section.place <= ~std::uint64_t{0} - section.size &&
         !((section.flags & SHF_TLS) != 0 && section.type == SHT_NOBITS);
}

}  // namespace

ImageSections::ImageSections(ElfFile& elf) : little_endian_(elf.header().little_endian) {
  for (const ElfSection& section : elf.sections()) {
    if (!IsLoaded(section)) continue;
    const Bytes bytes = section.type == SHT_NOBITS ? Bytes{} : elf.Section(section);
    sections_.push_back({.range = {section.place, section.place + section.size},
                         .bytes = bytes,
                         .code = (section.flags & SHF_EXECINSTR) != 0 && !bytes.empty(),
                         .name = section.name});
  }
  std::ranges::stable_sort(sections_, {}, [](const ImageSection& section) { return section.range.low; });
}

const ImageSection* ImageSections::Find(std::uint64_t address) const {
  auto next = std::ranges::upper_bound(sections_, address, {},
                                       [](const ImageSection& section) { return section.range.low; });
  if (next == sections_.begin()) return nullptr;
  --next;
  return address < next->range.high ? &*next : nullptr;
}

const ImageSection* ImageSections::Named(std::string_view name) const {
  const auto found =
      std::ranges::find_if(sections_, [&](const ImageSection& section) { return section.name == name; });
  return found != sections_.end() ? &*found : nullptr;
}

Bytes ImageSections::At(std::uint64_t address) const {
  const ImageSection* section = Find(address);
  if (section == nullptr || section->bytes.empty()) return {};
  return section->bytes.subspan(std::min<std::uint64_t>(address - section->range.low, section->bytes.size()));
}

bool ImageSections::IsCode(std::uint64_t address) const {
  const ImageSection* section = Find(address);
  return section != nullptr && section->code;
}

}  // namespace linesmith
