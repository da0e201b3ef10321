// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that keep more registers than the calling convention asks for, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "code/machine_code.h"
#include "program/program_image.h"

namespace linesmith {

// The registers, by bit, that a call of `function` may change; nothing for ordinary functions.
std::optional<std::uint32_t> ChangedByFunction(std::uint16_t machine, std::string_view function);

// The same for a paravirtual operation whose initial implementation is `function`.
std::optional<std::uint32_t> ChangedByParavirt(std::string_view function);

// What is known of functions by their names: those after which nothing runs, and the kernel's jump thunks.

// Whether `callee` is one of the well-known functions that never return, whatever DWARF says of it.
bool IsNamedAsNeverReturning(const ProgramImage& image, std::uint64_t callee);

// Whether `callee` is the C library's function that is given a slot of the global offset table and returns
// the address of a thread's variable.
bool FindsThreadVariables(const ProgramImage& image, std::uint64_t callee);

// The register through which `callee` jumps, when it is one of the kernel's thunks for indirect calls
// (arch/x86/lib/retpoline.S); kNoRegister for others.
RegisterNumber RegisterOfThunk(const ProgramImage& image, std::uint64_t callee);

}  // namespace linesmith
