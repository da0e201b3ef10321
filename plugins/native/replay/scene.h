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
  const std::vector<Event>& events() const { return events_; }  // by object
  const std::vector<Field>& fields() const { return fields_; }  // sorted
  const std::vector<Use>& uses() const { return uses_; }        // by object
  std::span<const Event> EventsOf(std::uint32_t object) const {
    return std::span(events_).subspan(first_[object], first_[object + 1] - first_[object]);
  }
  const std::vector<bool>& touched() const { return touched_; }  // by object: whether an event is of it

 private:
  struct SiteHash {
    std::size_t operator()(const Site& site) const;
  };

  std::uint32_t Number(const Site& site);
  void SortByObject();
  std::vector<std::uint32_t> ListFields();

  ObjectMap objects_;
  std::vector<bool> touched_;
  std::vector<Site> sites_;
  std::vector<Event> events_;
  std::vector<std::uint32_t> first_;  // event by object, and one behind the last
  std::vector<Field> fields_;
  std::vector<Use> uses_;
  std::unordered_map<Site, std::uint32_t, SiteHash> numbers_;
};

}  // namespace linesmith::replay
