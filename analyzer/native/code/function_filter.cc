// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/function_filter.h"

#include <algorithm>

namespace linesmith {

std::string_view WithoutCloneSuffix(std::string_view name) {
  const std::size_t dot = name.find('.', 1);
  return dot == std::string_view::npos ? name : name.substr(0, dot);
}

NameMatcher::NameMatcher(const FunctionFilter& filter) : prefixes_(filter.prefixes) {
  for (const std::string& name : filter.names) {
    asked_[name].insert(name);
    asked_[std::string(WithoutCloneSuffix(name))].insert(name);
  }
}

void NameMatcher::Match(std::string_view name, std::set<std::string>& matches) const {
  if (name.empty()) return;
  if (const auto found = asked_.find(name); found != asked_.end()) {
    matches.insert(found->second.begin(), found->second.end());
  }
  const auto fits = [&](const std::string& prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(prefixes_, fits)) matches.emplace(name);
}

}  // namespace linesmith
