// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: any bytes as an ELF file with DWARF. Anything but a clean result or an Error is a finding.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "debug_loader.h"
#include "dwarf_reader.h"
#include "error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> image(data, data + size);  // libelf writes to the headers of what it decompresses
  try {
    const auto info = linesmith::LoadDebugImage("input", image);
    linesmith::ReadRecords(*info, 1, nullptr);
  } catch (const linesmith::Error&) {
  }
  return 0;
}
