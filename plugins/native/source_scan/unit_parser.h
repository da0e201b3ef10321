// SPDX-License-Identifier: GPL-2.0-or-later
// Clang run over one compile command.
#pragma once

#include <memory>
#include <string>

#include "barren_bodies.h"
#include "clang/Basic/FileManager.h"
#include "command_reader.h"
#include "facts.h"
#include "scan_options.h"

namespace linesmith {

// Parses unit after unit. Units of one directory share what is known of the file system.
class UnitParser {
 public:
  explicit UnitParser(ScanOptions options) : options_(std::move(options)) {}

  // Never fails: what could not be read is told in the facts.
  UnitFacts Parse(const CompileCommand& command);

 private:
  clang::FileManager& FilesOf(const std::string& directory);

  ScanOptions options_;
  BarrenBodies barren_;
  std::string directory_;
  llvm::IntrusiveRefCntPtr<clang::FileManager> files_;
};

}  // namespace linesmith
