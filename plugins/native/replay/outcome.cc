// SPDX-License-Identifier: GPL-2.0-or-later
#include "outcome.h"

namespace linesmith::replay {

std::uint64_t SharedMisses(const coherence_events& events) {
  return events.hitm_local + events.hitm_remote + events.shared_miss + events.upgrade + events.own_local +
         events.own_remote;
}

}  // namespace linesmith::replay
