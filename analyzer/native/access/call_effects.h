// SPDX-License-Identifier: GPL-2.0-or-later
// Functions that keep more registers than the calling convention asks for, by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace linesmith {

// The registers, by bit, that a call of `function` may change; nothing for ordinary functions.
std::optional<std::uint32_t> ChangedByFunction(std::uint16_t machine, std::string_view function);

// The same for a paravirtual operation whose initial implementation is `function`.
std::optional<std::uint32_t> ChangedByParavirt(std::string_view function);

}  // namespace linesmith
