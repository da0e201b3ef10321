// SPDX-License-Identifier: GPL-2.0-or-later
#include "scene.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace linesmith::replay {
namespace {

constexpr std::size_t kMostEvents = std::size_t{1} << 27;  // 4 GiB with what is listed of them

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
    const auto number = static_cast<std::uint32_t>(events_.size());
    const bool stores = event.kind != COHERENCE_LOAD;
    events_.push_back(
        {spot.object, site, number, event.slice, static_cast<std::uint8_t>(event.cpu), stores, false});
    touched_[spot.object] = true;
    address += size;
    left -= size;
  }
}

// Returns the number of the field by site.
std::vector<std::uint32_t> Scene::ListFields() {
  for (const Site& site : sites_) fields_.push_back({site.kind, site.offset, site.width});
  const std::vector<Field> of_site = fields_;
  std::sort(fields_.begin(), fields_.end());
  fields_.erase(std::unique(fields_.begin(), fields_.end()), fields_.end());
  std::vector<std::uint32_t> numbers;
  for (const Field& field : of_site) {
    const auto place = std::lower_bound(fields_.begin(), fields_.end(), field);
    numbers.push_back(static_cast<std::uint32_t>(place - fields_.begin()));
  }
  return numbers;
}

// Moves each event to its place, so that memory holds them once.
void Scene::SortByObject() {
  first_.assign(objects_.objects().size() + 1, 0);
  for (const Event& event : events_) ++first_[event.use + 1];
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  std::vector<std::uint32_t> next = first_, order(events_.size());
  for (const Event& event : events_) order[next[event.use]++] = event.number;
  for (std::uint32_t start = 0; start < order.size(); ++start) {
    const Event displaced = events_[start];
    std::uint32_t place = start;
    while (order[place] != start) {
      const std::uint32_t from = std::exchange(order[place], place);
      events_[place] = events_[from];
      place = from;
    }
    events_[place] = displaced;
    order[place] = place;
  }
}

void Scene::Order() {
  SortByObject();
  const std::vector<std::uint32_t> fields = ListFields();
  std::vector<std::uint32_t> use_of(fields_.size());
  // By use: the stretch of one CPU in which it came last, and in which a store to it did.
  std::vector<std::array<std::uint32_t, 2>> last;
  std::uint32_t stretch = 0;
  const Event* before = nullptr;
  std::uint32_t object_before = 0;
  for (Event& event : events_) {
    const std::uint32_t object = event.use, field = fields[event.site];
    if (before == nullptr || object_before != object || before->cpu != event.cpu) ++stretch;
    before = &event;
    object_before = object;
    std::uint32_t& use = use_of[field];
    if (use >= uses_.size() || uses_[use].object != object || uses_[use].field != field) {
      use = static_cast<std::uint32_t>(uses_.size());
      uses_.push_back({object, field});
      last.push_back({});
    }
    event.use = use;
    event.again = last[use][event.stores] == stretch;
    last[use][0] = stretch;
    if (event.stores) last[use][1] = stretch;
  }
  ListShortEvents();
}

void Scene::ListShortEvents() {
  short_events_.reserve(events_.size());
  first_of_use_.assign(uses_.size() + 1, 0);
  std::vector<std::uint32_t> fresh(uses_.size());
  for (const Event& event : events_) {
    short_events_.push_back({event.use, event.cpu, event.stores, event.again});
    ++first_of_use_[event.use + 1];
    if (!event.again) ++fresh[event.use];
  }
  std::partial_sum(first_of_use_.begin(), first_of_use_.end(), first_of_use_.begin());
  for (std::size_t use = 0; use < fresh.size(); ++use)
    first_again_.push_back(first_of_use_[use] + fresh[use]);
  std::vector<std::uint32_t> next(first_of_use_.begin(), first_of_use_.end() - 1), next_again = first_again_;
  by_use_.resize(events_.size());
  for (std::uint32_t position = 0; position < short_events_.size(); ++position) {
    const ShortEvent& event = short_events_[position];
    by_use_[event.again ? next_again[event.use]++ : next[event.use]++] = position;
  }
}

}  // namespace linesmith::replay
