// SPDX-License-Identifier: GPL-2.0-or-later
// What a trace has of a set of objects, by object and offset: all that other layouts of them need.
#pragma once

#include <cstdint>
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

struct Event {
  std::uint32_t site = 0;
  std::uint32_t object = 0;
  std::uint32_t slice = 0;
  std::uint8_t cpu = 0;
};

class Scene {
 public:
  explicit Scene(ObjectMap objects) : objects_(std::move(objects)), touched_(objects_.objects().size()) {}

  // Keeps what of the event concerns the objects, in pieces of one object each. Throws std::length_error when
  // there are more events than memory is meant for.
  void Add(const trace_event& event);

  const ObjectMap& objects() const { return objects_; }
  const std::vector<Site>& sites() const { return sites_; }
  const std::vector<Event>& events() const { return events_; }
  const std::vector<bool>& touched() const { return touched_; }  // by object: whether an event is of it

 private:
  struct SiteHash {
    std::size_t operator()(const Site& site) const;
  };

  std::uint32_t Number(const Site& site);

  ObjectMap objects_;
  std::vector<bool> touched_;
  std::vector<Site> sites_;
  std::vector<Event> events_;
  std::unordered_map<Site, std::uint32_t, SiteHash> numbers_;
};

}  // namespace linesmith::replay
