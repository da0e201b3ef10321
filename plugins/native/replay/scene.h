// SPDX-License-Identifier: GPL-2.0-or-later
// What a trace has of a set of objects, by object and offset: all that other layouts of them need.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "coherence.h"
#include "objects.h"
#include "trace.h"

namespace linesmith::replay {

// An instruction at one place of objects of one kind.
struct Site {
  std::uint32_t instruction = 0;  // site of the trace
  std::uint32_t kind = 0;
  std::uint32_t offset = 0;
  std::uint8_t width = 0;
  coherence_kind access = COHERENCE_LOAD;

  bool operator==(const Site&) const = default;
};

// Bytes of the objects of a kind that accesses touch as a whole.
struct Field {
  std::uint32_t kind = 0;
  std::uint32_t offset = 0;
  std::uint32_t width = 0;

  auto operator<=>(const Field&) const = default;
};

// A field of one object. All accesses to it touch the same lines, unless there are shards.
struct Use {
  std::uint32_t object = 0;
  std::uint32_t field = 0;
};

struct Event {
  std::uint32_t use = 0;  // before events are in order: the object
  std::uint32_t site = 0;
  std::uint32_t number = 0;  // in the order of the trace
  std::uint32_t slice = 0;
  std::uint8_t cpu = 0;
  bool stores = false;
  bool again =
      false;  // the CPU has done as much before, and since then no other CPU anything with the object
};

// What of an event decides whether it misses.
struct ShortEvent {
  std::uint32_t use = 0;
  std::uint8_t cpu = 0;
  bool stores = false;
  bool again = false;
};

class Scene {
 public:
  explicit Scene(ObjectMap objects) : objects_(std::move(objects)), touched_(objects_.objects().size()) {}

  // Keeps what of the event concerns the objects, in pieces of one object each. Throws std::length_error when
  // there are more events than memory is meant for.
  void Add(const trace_event& event);
  // Sorts the events by object, when all are there.
  void Order();

  const ObjectMap& objects() const { return objects_; }
  const std::vector<Site>& sites() const { return sites_; }
  const std::vector<Event>& events() const { return events_; }                   // by object
  const std::vector<Field>& fields() const { return fields_; }                   // sorted
  const std::vector<Use>& uses() const { return uses_; }                         // by object
  const std::vector<ShortEvent>& short_events() const { return short_events_; }  // the same
  // Position of the first event of an object, or of one behind all for the number behind the last.
  std::uint32_t FirstOf(std::uint32_t object) const { return first_[object]; }
  // Positions of the events of a use, in no order; without `again` only of those that are not.
  std::span<const std::uint32_t> EventsOfUse(std::uint32_t use, bool again) const {
    const std::uint32_t end = again ? first_of_use_[use + 1] : first_again_[use];
    return std::span(by_use_).subspan(first_of_use_[use], end - first_of_use_[use]);
  }
  const std::vector<bool>& touched() const { return touched_; }  // by object: whether an event is of it

 private:
  struct SiteHash {
    std::size_t operator()(const Site& site) const;
  };

  std::uint32_t Number(const Site& site);
  void SortByObject();
  std::vector<std::uint32_t> ListFields();
  void ListShortEvents();

  ObjectMap objects_;
  std::vector<bool> touched_;
  std::vector<Site> sites_;
  std::vector<Event> events_;
  std::vector<ShortEvent> short_events_;
  std::vector<std::uint32_t> first_;  // event by object, and one behind the last
  std::vector<Field> fields_;
  std::vector<Use> uses_;
  std::vector<std::uint32_t> by_use_;  // positions of events, of each use those first that are not again
  std::vector<std::uint32_t> first_of_use_;  // in by_use_, and one behind the last
  std::vector<std::uint32_t> first_again_;   // in by_use_
  std::unordered_map<Site, std::uint32_t, SiteHash> numbers_;
};

}  // namespace linesmith::replay
