// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/called_function.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace linesmith {
namespace {

constexpr std::array<std::string_view, 16> kNeverReturning = {
    "__stack_chk_fail", "panic",       "do_exit",       "make_task_dead",  "fortify_panic", "__fortify_panic",
    "__fortify_fail",   "__chk_fail",  "abort",         "_exit",           "exit",          "__assert_fail",
    "_Unwind_Resume",   "__cxa_throw", "__cxa_rethrow", "_ZSt9terminatev",
};
constexpr std::string_view kThreadFunction = "__tls_get_addr";
constexpr std::string_view kThunk = "__x86_indirect_thunk_";
// By DWARF number (System V ABI, AMD64 supplement, figure 3.36).
constexpr std::array<std::string_view, 16> kRegisterNames = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                                             "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                                             "r12", "r13", "r14", "r15"};

std::string_view NameAt(const ProgramImage& image, std::uint64_t address) {
  const ImageSymbol* symbol = image.SymbolAt(address);
  return symbol != nullptr && symbol->address == address ? symbol->name : std::string_view{};
}

}  // namespace

bool IsNamedAsNeverReturning(const ProgramImage& image, std::uint64_t callee) {
  return std::ranges::find(kNeverReturning, NameAt(image, callee)) != kNeverReturning.end();
}

bool FindsThreadVariables(const ProgramImage& image, std::uint64_t callee) {
  return NameAt(image, callee) == kThreadFunction;
}

RegisterNumber RegisterOfThunk(const ProgramImage& image, std::uint64_t callee) {
  const std::string_view name = NameAt(image, callee);
  if (!name.starts_with(kThunk)) return kNoRegister;
  const auto found = std::ranges::find(kRegisterNames, name.substr(kThunk.size()));
  return found != kRegisterNames.end() ? static_cast<RegisterNumber>(found - kRegisterNames.begin())
                                       : kNoRegister;
}

}  // namespace linesmith
