// SPDX-License-Identifier: GPL-2.0-or-later
// What the inference says of a C function that a real compiler has translated.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "access/access_map.h"

namespace linesmith {

using Accesses = std::vector<std::string>;

inline constexpr const char* kInferredTypes = R"(
struct part { long low; long high; };
struct whole { long key; struct part part; long last; struct part *link; };
struct table { long length; struct part *owner; struct part entries[4]; };
struct list { struct list *next; long value; };
void other(void *);
)";

// The accesses of function `f` of a C text, without those of its frame, as "struct part+8 propagation".
class Inferred {
 public:
  explicit Inferred(const std::string& source,
                    const std::string& compiler = "gcc -O2 -g -fcf-protection=none -c") {
    std::string pattern = std::filesystem::temp_directory_path() / "inference-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    std::ofstream(directory_ / "f.c") << kInferredTypes << source;
    const std::string command = "cd '" + directory_.string() + "' && " + compiler + " -o f.o f.c";
    made = std::system(command.c_str()) == 0;
    if (made) map = MapAccesses(directory_ / "f.o", {}, 1, {});
  }
  ~Inferred() { std::filesystem::remove_all(directory_); }

  Accesses accesses() const {
    static const char* const kWords[] = {
        "variable", "propagation", "global",   "percpu",  "stack",   "no types",  "untyped",  "scalar",
        "outside",  "hole",        "conflict", "unknown", "patched", "undecoded", "absolute", "indexed"};
    Accesses found;
    const AccessColumns& columns = map.columns;
    for (std::size_t row = 0; row < columns.address.size(); ++row) {
      const auto outcome = static_cast<Outcome>(columns.outcome[row]);
      if (map.functions[columns.function[row]].name != "f" || outcome == Outcome::kStack) continue;
      const AccessedType& type = map.types[columns.type[row]];
      const std::string place = outcome <= Outcome::kPerCpu
                                    ? type.name + "+" + std::to_string(columns.offset[row]) + " "
                                    : std::string();
      found.push_back(place + kWords[columns.outcome[row]]);
    }
    std::ranges::sort(found);
    return found;
  }
  bool Has(const std::string& access) const {
    const Accesses found = accesses();
    return std::ranges::find(found, access) != found.end();
  }

  AccessMap map;
  bool made = false;  // false where the compiler is not installed

 private:
  std::filesystem::path directory_;
};

}  // namespace linesmith
