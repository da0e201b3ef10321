// SPDX-License-Identifier: GPL-2.0-or-later
#include "access/inline_chains.h"

#include <algorithm>
#include <tuple>

namespace linesmith {
namespace {

constexpr unsigned kDeepestChain = 200;

}  // namespace

InlineChains::InlineChains(const std::vector<InlinedCall>& inlined) : inlined_(inlined) {
  for (std::size_t call = 0; call < inlined.size(); ++call) {
    for (const AddressRange& range : inlined[call].ranges) {
      spans_.push_back({range.low, range.high, static_cast<std::int32_t>(call)});
    }
  }
  std::ranges::sort(spans_, {}, [](const Span& span) { return std::tuple(span.low, span.call); });
}

std::int32_t InlineChains::InnermostAt(std::uint64_t address) {
  for (; next_ < spans_.size() && spans_[next_].low <= address; ++next_) {
    while (!open_.empty() && open_.back().high <= spans_[next_].low) open_.pop_back();
    open_.push_back(spans_[next_]);
  }
  while (!open_.empty() && open_.back().high <= address) open_.pop_back();
  return open_.empty() ? -1 : open_.back().call;
}

std::string InlineChains::NamesOf(std::int32_t call) const {
  std::vector<std::string_view> names;
  for (unsigned depth = 0; call >= 0 && depth < kDeepestChain; ++depth) {
    if (static_cast<std::size_t>(call) >= inlined_.size()) break;
    names.push_back(inlined_[static_cast<std::size_t>(call)].name);
    call = inlined_[static_cast<std::size_t>(call)].parent;
  }
  std::string text;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    if (!text.empty()) text += '\n';
    text += *name;
  }
  return text;
}

}  // namespace linesmith
