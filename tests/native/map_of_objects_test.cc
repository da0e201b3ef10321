// SPDX-License-Identifier: GPL-2.0-or-later
// Accesses of single object files: what other files define is known by its declaration only.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "access/access_map.h"

namespace linesmith {
namespace {

const char kSource[] = R"(struct point { long x, y; };
extern struct point *origin;
struct point *make(void);
long sum(void) { return origin->y + make()->x; }
)";

class MapOfObjects : public testing::TestWithParam<const char*> {};

// "NAME+OFFSET" of every access that is resolved.
std::set<std::string> Resolved(const AccessMap& map) {
  std::set<std::string> found;
  for (std::size_t row = 0; row < map.columns.type.size(); ++row) {
    const AccessedType& type = map.types[map.columns.type[row]];
    if (map.columns.type[row] != 0) found.insert(type.name + "+" + std::to_string(map.columns.offset[row]));
  }
  return found;
}

TEST_P(MapOfObjects, DeclarationsTellTypesOfVariablesAndResults) {
  std::string pattern = std::filesystem::temp_directory_path() / "objects-XXXXXX";
  const std::filesystem::path directory = mkdtemp(pattern.data());
  std::ofstream(directory / "sum.c") << kSource;
  const std::string command = std::string(GetParam()) + " -c -o '" + (directory / "sum.o").string() + "' '" +
                              (directory / "sum.c").string() + "'";
  const bool made = std::system(command.c_str()) == 0;
  const AccessMap map = made ? MapAccesses(directory / "sum.o", {}, 1, {}) : AccessMap{};
  std::filesystem::remove_all(directory);
  if (!made) GTEST_SKIP() << "cannot run " << GetParam();
  const std::set<std::string> resolved = Resolved(map);
  EXPECT_TRUE(resolved.contains("struct point+8"));
  EXPECT_TRUE(resolved.contains("struct point+0"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, MapOfObjects,
                         testing::Values("gcc -O2 -g", "gcc -O2 -g -fPIC",
                                         "gcc -O2 -g -mcmodel=kernel -fno-pic",
                                         "aarch64-linux-gnu-gcc -O2 -g"));

}  // namespace
}  // namespace linesmith
