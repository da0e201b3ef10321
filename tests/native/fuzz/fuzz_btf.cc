// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: any bytes as a BTF blob. Anything but a clean result or an Error is a finding.
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "btf/btf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    linesmith::ReadBtfBlob("input", {data, size});
  } catch (const linesmith::Error&) {
  }
  return 0;
}
