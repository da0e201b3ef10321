// SPDX-License-Identifier: GPL-2.0-or-later
// The one exception that leaves the native core; module.cc turns it into
// linesmith.analyzer._native.NativeError.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace linesmith {

// `kind` names a class of linesmith.analyzer.errors: "ElfError", "DebugInfoMissing" or "DebugInfoDamaged".
// The message is one sentence for the user: what is wrong, where (file, section, offset), what to do next.
struct Error : std::runtime_error {
  Error(std::string kind, const std::string& message) : std::runtime_error(message), kind(std::move(kind)) {}

  std::string kind;
};

}  // namespace linesmith
