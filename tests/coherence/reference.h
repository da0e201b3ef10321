// SPDX-License-Identifier: GPL-2.0-or-later
// The model of docs/simulation.md once more, as plainly as it can be said: no laziness, no tables, no threads.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "coherence.h"

namespace linesmith {

class Reference {
 public:
  struct Access {
    std::uint32_t cpu;
    std::uint64_t line;  // number
    std::uint32_t offset;
    std::uint32_t width;
    coherence_kind kind;
    std::uint32_t site;
  };
  // Line, victim's offset, width, site, kind, CPU; writer's offset, width, site, CPU; true sharing, remote.
  using Pair = std::array<std::uint64_t, 12>;

  explicit Reference(const coherence_config& config) : config_(config), caches_(config.cpus) {}

  void Touch(std::uint32_t cpu, std::uint64_t address, std::uint32_t width, coherence_kind kind,
             std::uint32_t site) {
    const std::uint64_t end = address + width;
    while (address < end) {
      const std::uint64_t line = address / config_.line_bytes;
      const std::uint64_t next = std::min(end, (line + 1) * config_.line_bytes);
      const auto offset = static_cast<std::uint32_t>(address % config_.line_bytes);
      TouchLine({cpu, line, offset, static_cast<std::uint32_t>(next - address), kind, site});
      address = next;
    }
  }

  coherence_counts counts{};
  std::map<Pair, std::uint64_t> pairs;

 private:
  using Granules = std::bitset<64>;

  struct Line {
    std::set<std::uint32_t> holders;
    std::set<std::uint32_t> unused;  // holders that fetched it ahead
    std::optional<std::uint32_t> owner;
    bool modified = false;
    std::optional<Access> writer;
    std::map<std::uint32_t, Access> takers;    // by the CPU that lost its copy
    std::map<std::uint32_t, Granules> unseen;  // written by others since the CPU's last copy
  };

  static bool IsLoad(const Access& access) { return access.kind == COHERENCE_LOAD; }

  bool Remote(std::uint32_t left, std::uint32_t right) const {
    return config_.node_of_cpu[left] != config_.node_of_cpu[right];
  }

  Granules Touched(const Access& access) const {
    const std::uint32_t size = config_.line_bytes / 64;
    Granules granules;
    for (std::uint32_t byte = access.offset; byte < access.offset + access.width; ++byte)
      granules.set(byte / size);
    return granules;
  }

  void TouchLine(const Access& access) {
    Line& line = lines_[access.line];
    const bool held = line.holders.count(access.cpu) != 0;
    const bool owned = line.owner == access.cpu;
    if (held && (IsLoad(access) || owned)) {
      ++counts.events.hits;
    } else if (held) {
      Upgrade(line, access);
    } else {
      Miss(line, access);
    }
    line.unused.erase(access.cpu);
    if (IsLoad(access)) {
      if (!held) Fill(line, access.cpu);
    } else {
      Store(line, access);
    }
    if (!held && config_.adjacent) Prefetch(access.cpu, access.line ^ 1);
    Use(access.cpu, access.line);
  }

  void Upgrade(const Line& line, const Access& access) {
    ++counts.events.upgrade;
    bool all_unused = line.holders.size() > 1;
    for (const std::uint32_t holder : line.holders)
      if (holder != access.cpu && line.unused.count(holder) == 0) all_unused = false;
    counts.prefetch_upgrades += all_unused;
  }

  void Miss(Line& line, const Access& access) {
    const bool modified = line.owner && line.modified;
    const bool remote = modified && Remote(*line.owner, access.cpu);
    coherence_events& events = counts.events;
    if (modified && IsLoad(access)) ++(remote ? events.hitm_remote : events.hitm_local);
    if (modified && !IsLoad(access)) ++(remote ? events.own_remote : events.own_local);
    if (!modified) ++(line.holders.empty() ? events.cold_miss : events.shared_miss);
    const auto taker = line.takers.find(access.cpu);
    if (taker != line.takers.end()) ++events.invalidated;
    if (taker != line.takers.end() || modified) {
      const Access& writer = taker != line.takers.end() ? taker->second : *line.writer;
      AddPair(line, access, writer, modified ? *line.owner : writer.cpu);
    }
    line.takers.erase(access.cpu);
    line.unseen[access.cpu].reset();
  }

  void AddPair(Line& line, const Access& victim, const Access& writer, std::uint32_t supplier) {
    const bool true_sharing = (line.unseen[victim.cpu] & Touched(victim)).any();
    ++(true_sharing ? counts.true_sharing : counts.false_sharing);
    ++pairs[{victim.line * config_.line_bytes, victim.offset, victim.width, victim.site,
             static_cast<std::uint64_t>(victim.kind), victim.cpu, writer.offset, writer.width, writer.site,
             writer.cpu, true_sharing, Remote(supplier, victim.cpu)}];
  }

  static void Fill(Line& line, std::uint32_t cpu) {
    line.owner.reset();
    line.modified = false;
    if (line.holders.empty()) line.owner = cpu;
    line.holders.insert(cpu);
  }

  void Store(Line& line, const Access& access) {
    const bool takes = line.owner != access.cpu || !line.modified;
    for (const std::uint32_t holder : line.holders) {
      if (holder == access.cpu) continue;
      line.takers[holder] = access;
      ++counts.invalidations;
    }
    for (std::uint32_t cpu = 0; cpu < config_.cpus; ++cpu)
      if (cpu != access.cpu) line.unseen[cpu] |= Touched(access);
    if (takes) line.writer = access;
    line.holders = {access.cpu};
    line.unused.clear();
    line.owner = access.cpu;
    line.modified = true;
  }

  void Prefetch(std::uint32_t cpu, std::uint64_t number) {
    Line& line = lines_[number];
    if (line.holders.count(cpu) != 0) return;
    line.takers.erase(cpu);
    line.unseen[cpu].reset();
    Fill(line, cpu);
    line.unused.insert(cpu);
    ++counts.prefetches;
    Use(cpu, number);
  }

  void Use(std::uint32_t cpu, std::uint64_t number) {
    if (config_.cache_bytes == 0) return;
    const std::uint64_t sets = config_.cache_bytes / config_.line_bytes / config_.cache_ways;
    std::list<std::uint64_t>& set = caches_[cpu][number % sets];
    set.remove(number);
    if (set.size() == config_.cache_ways) MakeRoom(cpu, set);
    set.push_front(number);
  }

  void MakeRoom(std::uint32_t cpu, std::list<std::uint64_t>& set) {
    for (auto number = set.rbegin(); number != set.rend(); ++number) {
      if (lines_[*number].holders.count(cpu) != 0) continue;
      set.erase(std::prev(number.base()));
      return;
    }
    Line& line = lines_[set.back()];
    line.holders.erase(cpu);
    line.unused.erase(cpu);
    if (line.owner == cpu) line.owner.reset();
    if (!line.owner) line.modified = false;
    ++counts.evictions;
    set.pop_back();
  }

  coherence_config config_;
  std::map<std::uint64_t, Line> lines_;
  std::vector<std::map<std::uint64_t, std::list<std::uint64_t>>> caches_;  // by CPU and set, last used first
};

}  // namespace linesmith
