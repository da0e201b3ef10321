// SPDX-License-Identifier: GPL-2.0-or-later
#include "records/record_order.h"

#include "base/error.h"

namespace linesmith {
namespace {

enum class Visit : std::uint8_t { kNotYet, kEntered, kDone };

// A record whose members are being looked at, and the member that is next.
struct OpenRecord {
  std::uint32_t id = 0;
  std::size_t next = 0;
};

[[noreturn]] void ThrowCycle(const std::string& place, const Record& record) {
  const std::string name = record.name.empty() ? "an anonymous record" : "the record \"" + record.name + "\"";
  throw Error("DebugInfoDamaged", place + ": " + name +
                                      " holds itself by value, which no compiler writes; the debug "
                                      "information is damaged, so rebuild the file");
}

}  // namespace

std::vector<std::uint32_t> InnermostFirst(const std::string& place, const std::vector<Record>& records) {
  std::vector<std::uint32_t> order;
  order.reserve(records.size());
  std::vector<Visit> visits(records.size(), Visit::kNotYet);
  std::vector<OpenRecord> open;
  const auto enter = [&](std::uint32_t id) {
    visits[id] = Visit::kEntered;
    open.push_back({id});
  };
  for (std::uint32_t first = 0; first < records.size(); ++first) {
    if (visits[first] == Visit::kNotYet) enter(first);
    while (!open.empty()) {
      const std::uint32_t id = open.back().id;
      const std::vector<Member>& members = records[id].members;
      if (open.back().next == members.size()) {
        visits[id] = Visit::kDone;
        order.push_back(id);
        open.pop_back();
        continue;
      }
      const std::optional<std::uint32_t> inner = members[open.back().next++].record;
      if (!inner) continue;
      if (visits[*inner] == Visit::kEntered) ThrowCycle(place, records[*inner]);
      if (visits[*inner] == Visit::kNotYet) enter(*inner);
    }
  }
  return order;
}

}  // namespace linesmith
