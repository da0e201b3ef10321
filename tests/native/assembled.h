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
#include <memory>
#include <string>
#include <vector>

#include "program/program_image.h"

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

inline constexpr const char* kX86 = "as --64";
inline constexpr const char* kArm64 = "aarch64-linux-gnu-as";

// An image of assembled text; the file is kept beside it.
struct Program {
  std::vector<std::uint8_t> bytes;
  std::unique_ptr<ElfFile> elf;
  std::unique_ptr<ProgramImage> image;

  const ImageSymbol* Named(std::string_view name) const {
    for (std::uint64_t address = kRelocatableBase; address < kRelocatableBase + 0x100000; address += 4) {
      const ImageSymbol* symbol = image->SymbolAt(address);
      if (symbol != nullptr && symbol->name == name) return symbol;
    }
    return nullptr;
  }
  std::uint64_t Place(std::string_view section) const {
    for (const ElfSection& found : elf->sections()) {
      if (found.name == section) return image->AddressOf(found.index);
    }
    return 0;
  }
  std::vector<Instruction> Code(std::string_view section = ".text") const {
    std::vector<Instruction> instructions;
    const std::uint64_t start = Place(section);
    MakeInstructionDecoder(image->machine(), image->is_kernel())
        ->Decode({.address = start, .bytes = image->At(start)}, instructions);
    return instructions;
  }
};

inline Program Load(const char* assembler, const std::string& text) {
  Program program{.bytes = Assembled(assembler, text), .elf = nullptr, .image = nullptr};
  if (program.bytes.empty()) return program;
  program.elf = std::make_unique<ElfFile>(ElfFile::FromMemory("test.o", program.bytes));
  program.image = std::make_unique<ProgramImage>(*program.elf, *program.elf);
  return program;
}

}  // namespace linesmith
