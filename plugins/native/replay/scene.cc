// SPDX-License-Identifier: GPL-2.0-or-later
#include "scene.h"

#include <algorithm>
#include <stdexcept>

namespace linesmith::replay {
namespace {

constexpr std::size_t kMostEvents = std::size_t{1} << 27;  // 2 GiB

}  // namespace

std::size_t Scene::SiteHash::operator()(const Site& site) const {
  std::uint64_t hash = (std::uint64_t{site.instruction} << 32 | site.offset) * 0x9e3779b97f4a7c15u;
  hash ^=
      (std::uint64_t{site.kind} << 16 | std::uint64_t{site.width} << 8 | site.access) * 0xc2b2ae3d27d4eb4fu;
  return hash ^ hash >> 29;
}

std::uint32_t Scene::Number(const Site& site) {
  const auto [place, fresh] = numbers_.try_emplace(site, static_cast<std::uint32_t>(sites_.size()));
  if (fresh) sites_.push_back(site);
  return place->second;
}

void Scene::Add(const trace_event& event) {
  if (!objects_.MayHold(event.address, event.width)) return;
  std::uint64_t address = event.address;
  for (std::uint64_t left = event.width; left > 0;) {
    Spot spot;
    if (!objects_.Find(address, spot)) {
      ++address;
      --left;
      continue;
    }
    if (events_.size() == kMostEvents)
      throw std::length_error("the trace has too many events of these objects");
    const std::uint64_t size = std::min(left, spot.size);
    const auto width = static_cast<std::uint8_t>(size);
    const std::uint32_t site = Number({event.site, spot.kind, spot.offset, width, event.kind});
    events_.push_back({site, spot.object, event.slice, static_cast<std::uint8_t>(event.cpu)});
    touched_[spot.object] = true;
    address += size;
    left -= size;
  }
}

}  // namespace linesmith::replay
