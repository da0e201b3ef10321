// SPDX-License-Identifier: GPL-2.0-or-later
// Types and records by the names under which debug information knows them.
#pragma once

#include <string>

#include "clang/AST/Decl.h"
#include "clang/AST/Type.h"

namespace linesmith {

// The name of a record, or of the typedef that names an anonymous one; "" where there is neither.
std::string RecordName(const clang::RecordDecl& record);

// The record that `field` counts as a member of: the one around it that is not an anonymous member itself.
const clang::RecordDecl& HolderOf(const clang::FieldDecl& field);

// "struct inode", "int", "struct page *": qualifiers and typedefs are taken off.
std::string TypeName(clang::QualType type);

}  // namespace linesmith
