// SPDX-License-Identifier: GPL-2.0-or-later
// A coherence simulation as the tests write it: CPUs that load and store, and what came of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "coherence.h"

namespace linesmith {

class Simulation {
 public:
  static constexpr std::uint64_t kLine = 0x1000;

  explicit Simulation(std::uint32_t cpus) : Simulation(SmallConfig(cpus)) {}
  explicit Simulation(const coherence_config& config) : sim_(coherence_create(&config), coherence_destroy) {}

  // Bounds that keep the tables of a test small; every hit after the first meeting has its record.
  static coherence_config SmallConfig(std::uint32_t cpus) {
    coherence_config config = coherence_default_config(cpus);
    config.max_lines = 1 << 12;
    config.max_contended = 1 << 10;
    config.hits_after = 0;
    return config;
  }

  void Load(std::uint32_t cpu, std::uint64_t address, std::uint32_t width = 8, std::uint32_t site = 0) {
    coherence_access(sim_.get(), cpu, address, width, COHERENCE_LOAD, site);
  }
  void Store(std::uint32_t cpu, std::uint64_t address, std::uint32_t width = 8, std::uint32_t site = 0) {
    coherence_access(sim_.get(), cpu, address, width, COHERENCE_STORE, site);
  }
  void Atomic(std::uint32_t cpu, std::uint64_t address, std::uint32_t width = 8, std::uint32_t site = 0) {
    coherence_access(sim_.get(), cpu, address, width, COHERENCE_ATOMIC, site);
  }

  coherence* get() const { return sim_.get(); }
  coherence_counts Counts() const { return coherence_count(sim_.get()); }
  coherence_events Events() const { return Counts().events; }

  std::vector<coherence_line> Lines() const {
    std::vector<coherence_line> lines;
    coherence_visit_lines(sim_.get(), Keep<coherence_line>, &lines);
    return lines;
  }
  std::vector<coherence_record> Records() const {
    std::vector<coherence_record> records;
    coherence_visit_records(sim_.get(), Keep<coherence_record>, &records);
    return records;
  }
  std::vector<coherence_pair> Pairs() const {
    std::vector<coherence_pair> pairs;
    coherence_visit_pairs(sim_.get(), Keep<coherence_pair>, &pairs);
    return pairs;
  }

 private:
  template <typename Value>
  static void Keep(void* values, const Value* value) {
    static_cast<std::vector<Value>*>(values)->push_back(*value);
  }

  std::unique_ptr<coherence, decltype(&coherence_destroy)> sim_;
};

}  // namespace linesmith
