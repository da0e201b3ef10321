// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: any bytes as an ELF file with DWARF, for its records and for what its functions reach. Anything
// but a clean result or an Error is a finding.
#include <cstddef>
#include <cstdint>

#include "access/touched.h"
#include "base/error.h"
#include "dwarf/debug_loader.h"
#include "layouts/dwarf_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto info = linesmith::LoadDebugImage("input", {data, size});
    linesmith::ReadRecords(*info, 1, nullptr);
    linesmith::ReadTouched(*info, {.names = {}, .prefixes = {""}}, 1);
  } catch (const linesmith::Error&) {
  }
  return 0;
}
