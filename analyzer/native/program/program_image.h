// SPDX-License-Identifier: GPL-2.0-or-later
// A file as it lies in memory: code and data by address, symbols, and what relocations say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "code/machine_code.h"
#include "elf/elf_file.h"
#include "program/dynamic_links.h"

namespace linesmith {

// A function or variable of the symbol table. Aliases are kept.
struct ImageSymbol {
  std::string_view name;  // in the file's string table
  std::uint64_t address = 0;
  std::uint64_t size = 0;  // of another file's symbol: the room that it has
  bool is_function = false;
};

// How far from the thread pointer a variable lies, and what the slot that tells it is for.
struct ThreadDistance {
  std::int64_t bytes = 0;
  ThreadLink link = ThreadLink::kOffset;
};

constexpr unsigned kAddressBytes = 8;

// Entries of 8 bytes are addresses; those of 4, 2 or 1 are distances from `base`, in units of `scale` bytes.
struct JumpTable {
  std::uint64_t address = 0;
  unsigned entry_bytes = 8;
  std::uint64_t base = 0;
  unsigned scale = 1;
  bool is_signed = true;
};

// Relocatable files (.o, .ko) are laid out as ElfFile does it (kRelocatableBase, `place`); symbols of other
// files have addresses of their own behind the last section, so that calls and globals by name can be told
// apart.
class ProgramImage {
 public:
  // `symbols` is the file with the symbol table, which may be the debug file; relocatable files are asked for
  // their own. Both must outlive the image. Throws Error("ElfError").
  ProgramImage(ElfFile& code, ElfFile& symbols);
  ~ProgramImage();

  std::uint16_t machine() const;
  // Whether the file is a kernel or a module of one (it has a section that only those have).
  bool is_kernel() const;
  // Bytes from `address` on, at most to the end of the section; empty where the file has none.
  Bytes At(std::uint64_t address) const;
  bool IsCode(std::uint64_t address) const;
  // Functions by ascending address, one for each distinct range, with the name of the first symbol.
  const std::vector<ImageSymbol>& functions() const;
  // The variable or function that covers `address`, the smallest one; null where there is none. Stubs of
  // procedure linkage tables have the names of the functions that they lead to.
  const ImageSymbol* SymbolAt(std::uint64_t address) const;
  // The address of the variable or function `name`, of this file or another one; 0 where there is none.
  std::uint64_t AddressOfSymbol(std::string_view name) const;
  // The offset into the thread's block of the thread's variable `name`; nothing where there is none, or more
  // than one.
  std::optional<std::uint64_t> ThreadSymbol(std::string_view name) const;
  // The address that the dynamic linker puts into the word at `address`; 0 where it puts none there.
  std::uint64_t LinkedWord(std::uint64_t address) const;
  // What the word at `address` always holds, once the program runs: an address, or a variable's distance from
  // the thread pointer.
  std::optional<std::int64_t> FixedWord(std::uint64_t address) const;
  // The function that a call leads to, directly or through such a word; 0 where that is not known.
  std::uint64_t CalleeOf(const Instruction& call) const;
  // Where [first, last) lies in .data..percpu of a kernel; both 0 without one.
  std::uint64_t percpu_first() const;
  std::uint64_t percpu_last() const;
  // The offset into the thread's block (as DWARF counts) of what lies `displacement` bytes from the thread
  // pointer.
  std::uint64_t ThreadOffset(std::int64_t displacement) const;
  // The variable that the slot of the global offset table at `address` leads to.
  std::optional<ThreadDistance> ThreadSlotAt(std::uint64_t address) const;

  // Whether code at `address` is replaced at boot or run time (.altinstructions, .parainstructions,
  // .static_call_sites; not .smp_locks and __jump_table): what runs there may be something else.
  bool IsPatched(std::uint64_t address) const;
  // Where control may go from the instruction at `address` beside what it says: the target of a static branch
  // (__jump_table), where the kernel goes on after a fault (__ex_table), or what follows a jump that is
  // replaced
  // (.altinstructions). 0: nowhere.
  std::uint64_t SideExit(std::uint64_t address) const;
  // Whether the trap at `address` is a warning, after which the code goes on (__bug_table).
  bool ComesBack(std::uint64_t address) const;
  // The registers, by bit, that `call` may change: those of the convention, fewer for what keeps more
  // (profiling hooks, access of user memory, paravirtual calls).
  std::uint32_t ChangedByCall(const Instruction& call, const CallingConvention& convention) const;

  // Where section `index` (of the ELF file's list) lies.
  std::uint64_t AddressOf(std::size_t section_index) const;
  // Where entry `number` of a table leads to; 0 behind the end of its section.
  std::uint64_t JumpTarget(const JumpTable& table, std::uint64_t number) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace linesmith
