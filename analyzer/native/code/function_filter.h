// SPDX-License-Identifier: GPL-2.0-or-later
// Functions by name: as asked for, or by prefix, with the suffixes that compilers append to clones set aside.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace linesmith {

// Functions by name (with or without the suffixes that compilers append to clones) and by prefix.
struct FunctionFilter {
  std::vector<std::string> names;
  std::vector<std::string> prefixes;
};

// `blk_update.constprop.0.cold` is a clone of `blk_update`; C names hold no dot, so the rest is the
// compiler's.
std::string_view WithoutCloneSuffix(std::string_view name);

// Decides by name which of the functions asked for a subprogram is; asked once per concrete function of the
// file. Refers to the filter, which must outlive it.
class NameMatcher {
 public:
  explicit NameMatcher(const FunctionFilter& filter);

  // Adds to `matches` the names under which the function is reported: as asked, or its own where a prefix
  // fits.
  void Match(std::string_view name, std::set<std::string>& matches) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> asked_;
  const std::vector<std::string>& prefixes_;
};

}  // namespace linesmith
