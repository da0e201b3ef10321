// SPDX-License-Identifier: GPL-2.0-or-later
#include "build_facts.h"

#include <capstone/capstone.h>
#include <elfutils/libdwfl.h>

namespace linesmith {

std::string CompilerVersion() {
#if defined(__clang__)
  return __VERSION__;
#else
  return std::string("GCC ") + __VERSION__;
#endif
}

std::string LibdwVersion() {
  const char* version = dwfl_version(nullptr);
  return version == nullptr ? "" : version;
}

std::string CapstoneVersion() {
  int major = 0;
  int minor = 0;
  cs_version(&major, &minor);
  return std::to_string(major) + "." + std::to_string(minor);
}

}  // namespace linesmith
