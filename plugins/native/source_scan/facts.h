// SPDX-License-Identifier: GPL-2.0-or-later
// What one translation unit shows of the records asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace linesmith {

// How code depends on the order of a record's members.
enum class DependencyKind : std::uint8_t {
  kPositional,
  kOffsetof,
  kOffsetRange,
  kAssertion,
  kFirstMemberCast,
  kContainerOfFirst,
  kPartialCopy,
  kUserAbi,
  kAsmOffset,
  kBpfCore,
  kRandomized,
};

// What an expression does with a member. An offset is only computed; so are sizes and types.
enum class UseKind : std::uint8_t { kRead, kWrite, kUpdate, kAddress, kOffset };

// Bytes of a file.
struct ByteRange {
  unsigned start = 0;
  unsigned end = 0;
};

// A line of a file. `macro` is the outermost macro that gives the code, "" for code that stands there itself;
// `written` is where that macro writes it ("file:line").
struct Place {
  std::string file;  // absolute
  unsigned line = 0;
  std::string text;  // of the line, without blanks at its ends
  std::string macro;
  std::string written;
};

struct MemberFact {
  std::string name;  // "" for anonymous records and bit-fields without name
  int inside = -1;   // the member (an anonymous record) that holds it, -1 for the record itself
  unsigned line = 0;
  ByteRange atom;         // comment above ... comment beside
  ByteRange declaration;  // ... with its semicolon
  std::string macro;      // that declares it
  std::vector<std::string> others;
  std::vector<ByteRange> docs;  // lines of the comment above the record that describe it
  std::optional<std::uint64_t> offset_bits;
  std::optional<std::uint64_t> bits;
};

struct RecordFact {
  std::string record;
  std::string kind;
  std::string file;
  unsigned line = 0;
  ByteRange whole;
  ByteRange body;
  std::optional<ByteRange> comment;
  std::string macro;
  std::optional<std::uint64_t> bytes;
  bool randomized = false;
  bool packed = false;
  std::vector<MemberFact> members;
};

struct DependencyFact {
  DependencyKind kind = DependencyKind::kOffsetof;
  int declaration = -1;  // which of the unit's records
  std::vector<std::string> members = {};
  Place place = {};
  std::string function = {};
  std::string relation = {};  // of an assertion: "==", "<=", ...
  std::optional<std::uint64_t> bytes = std::nullopt;
  bool binds = true;  // false where the compiler works it out again for another order
  unsigned count = 1;
};

struct UseFact {
  int declaration = -1;
  std::string member;
  UseKind kind = UseKind::kRead;
  Place place;
  std::string function;
};

struct UnitFacts {
  std::string unit;
  unsigned errors = 0;
  std::string complaint;
  bool fatal = false;
  double seconds = 0;
  std::vector<RecordFact> records;
  std::vector<DependencyFact> dependencies;
  std::vector<UseFact> uses;
  std::vector<std::string> includes;
};

}  // namespace linesmith
