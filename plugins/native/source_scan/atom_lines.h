// SPDX-License-Identifier: GPL-2.0-or-later
// The lines that belong to a declaration.
#pragma once

#include "file_tokens.h"

namespace linesmith {

// `declaration` with the comments right above it, the one beside it, and what continues that one below. Whole
// lines, unless others share its first or last line.
ByteRange AtomAround(const ByteRange& declaration, const FileTokens& tokens);

// The comment that ends on the line before `offset`; none where a blank line or code lies between.
std::optional<ByteRange> CommentAbove(unsigned offset, const FileTokens& tokens);

// Lines of `comment`, written for kernel-doc, that describe the member `name`.
std::vector<ByteRange> LinesAbout(llvm::StringRef name, const ByteRange& comment, const FileTokens& tokens);

}  // namespace linesmith
