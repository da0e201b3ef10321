// SPDX-License-Identifier: GPL-2.0-or-later
// Relocatable files from assembly text, by the real assembler.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace linesmith {

// The object file; empty when `assembler` is not installed.
inline std::vector<std::uint8_t> Assembled(const std::string& assembler, const std::string& text) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string("linesmith.") + test->test_suite_name() + "." + test->name();
  std::ranges::replace(name, '/', '.');
  const std::filesystem::path stem = std::filesystem::path(testing::TempDir()) / name;
  const std::string source = stem.string() + ".s";
  const std::string object = stem.string() + ".o";
  std::ofstream(source) << text;
  std::filesystem::remove(object);
  const std::string command = assembler + " -o '" + object + "' '" + source + "'";
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream file(object, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace linesmith
