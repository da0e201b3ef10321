// SPDX-License-Identifier: GPL-2.0-or-later
// Locations of Clang as places of files.
#pragma once

#include <string>

#include "clang/Basic/LangOptions.h"
#include "clang/Basic/SourceManager.h"
#include "facts.h"
#include "llvm/ADT/DenseMap.h"

namespace linesmith {

class Places {
 public:
  Places(const clang::SourceManager& sources, const clang::LangOptions& language)
      : sources_(sources), language_(language) {}

  // Code that a macro gives stands where the macro is used; what is handed to it, where it is written.
  Place Of(clang::SourceLocation location);

  const std::string& FileOf(clang::FileID file);
  const clang::SourceManager& sources() const { return sources_; }
  const clang::LangOptions& language() const { return language_; }

  // The macros that `location` comes from, innermost first.
  llvm::SmallVector<llvm::StringRef, 8> MacrosOf(clang::SourceLocation location) const;

 private:
  const clang::SourceManager& sources_;
  const clang::LangOptions& language_;
  llvm::DenseMap<clang::FileID, std::string> names_;
};

// The absolute path of a file that Clang read.
std::string AbsolutePath(const clang::SourceManager& sources, llvm::StringRef name);

}  // namespace linesmith
