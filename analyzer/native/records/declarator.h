// SPDX-License-Identifier: GPL-2.0-or-later
// The two columns of a member's line, built from its type; shared by the DWARF and the BTF reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace linesmith {

// `unsigned char` and `name[16]`, or `int` and `(*open)(struct file *)`.
struct Columns {
  std::string type;
  std::string declarator;
};

// A C declarator under construction. The reader walks the member's type from the outside (what the name is)
// to the inside (the named type) and adds each step; Finish() names the innermost type.
//
// The text is that of pahole 1.24 (`const char  *`, `struct page * *`) wherever that is C; where it is not
// (arrays of function pointers, pointers to arrays, qualified pointers) the text is C in the same spacing.
// An empty name gives an abstract declarator, as in a list of parameters.
class Declarator {
 public:
  explicit Declarator(std::string_view name);

  // A qualifier (`const`, `volatile`, `restrict`, `_Atomic`) of the type added next or named by Finish().
  void AddQualifier(std::string_view word);
  void AddPointer();
  // All ranks of an array, outermost first; `flexible` writes the first one as `[]`.
  void AddArray(const std::vector<std::uint64_t>& dimensions, bool flexible);
  // A function whose parameters read as `parameters` (without parentheses).
  void AddFunction(std::string_view parameters);

  Columns Finish(std::string_view specifier) const;

 private:
  void CommitPointers();
  std::string TakeQualifiers();

  std::string inner_;                    // what stands in the declarator column so far
  std::vector<std::string> pointers_;    // pointers not yet placed, outermost first, each with its qualifiers
  std::vector<std::string> qualifiers_;  // qualifiers of the step to come
};

// The columns as one text, as a parameter is written: `const char  *`, `int (*)(int)`.
std::string Join(const Columns& columns);

}  // namespace linesmith
