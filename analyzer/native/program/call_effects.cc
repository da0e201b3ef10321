// SPDX-License-Identifier: GPL-2.0-or-later

#include "program/call_effects.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "code/x86_operands.h"

namespace linesmith {
namespace {

constexpr std::uint32_t Bit(RegisterNumber reg) { return 1u << reg; }

struct Contract {
  std::string_view name;
  bool prefix;
  std::uint32_t changed;
};

// What the inline assembly around the call tells the compiler: arch/x86/include/asm/{ftrace,preempt,uaccess,
// arch_hweight,page_64,paravirt_types}.h, and kernel/kcov.c for the hook of coverage.
constexpr auto kX86Contracts = std::to_array<Contract>({
    {"__fentry__", false, 0},
    {"mcount", false, 0},
    {"__sanitizer_cov_trace_pc", false, 0},
    {"__SCT__preempt_schedule", true, 0},
    {"preempt_schedule_thunk", false, 0},
    {"preempt_schedule_notrace_thunk", false, 0},
    {"__raw_callee_save_", true, Bit(kRax)},
    {"__sw_hweight32", false, Bit(kRax)},
    {"__sw_hweight64", false, Bit(kRax)},
    {"__get_user_", true, Bit(kRax) | Bit(kRdx)},
    {"__put_user_", true, Bit(kRcx) | Bit(kRbx)},
    {"clear_page_", true, Bit(kRax) | Bit(kRcx) | Bit(kRdi)},
});

constexpr auto kArm64Contracts = std::to_array<Contract>({
    {"__sanitizer_cov_trace_pc", false, 0},
});

// Assembly that stands for an operation which keeps all but the result.
constexpr auto kParavirtContracts = std::to_array<Contract>({
    {"__raw_callee_save_", true, Bit(kRax)},
    {"_paravirt_ident_64", false, Bit(kRax)},
    {"paravirt_ret0", false, Bit(kRax)},
    {"native_save_fl", false, Bit(kRax)},
    {"pv_native_save_fl", false, Bit(kRax)},
    {"pv_native_irq_disable", false, Bit(kRax)},
    {"pv_native_irq_enable", false, Bit(kRax)},
    {"pv_native_read_cr2", false, Bit(kRax)},
});

template <std::size_t kCount>
std::optional<std::uint32_t> Find(const std::array<Contract, kCount>& contracts, std::string_view name) {
  for (const Contract& contract : contracts) {
    if (contract.prefix ? name.starts_with(contract.name) : name == contract.name) return contract.changed;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> ChangedByFunction(std::uint16_t machine, std::string_view function) {
  return machine == EM_X86_64 ? Find(kX86Contracts, function) : Find(kArm64Contracts, function);
}

std::optional<std::uint32_t> ChangedByParavirt(std::string_view function) {
  return Find(kParavirtContracts, function);
}

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
