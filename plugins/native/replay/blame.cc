// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame.h"

#include <bit>

namespace linesmith::replay {

BlameTable::Entry& BlameTable::Find(const BlameKey& key) {
  const std::size_t mask = entries_.size() - 1;
  std::uint64_t hash = (std::uint64_t{key.victim} << 32 | key.writer) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 29 ^ key.line) * 0xbf58476d1ce4e5b9u;
  std::size_t place = hash >> 32 & mask;
  while (entries_[place].used && entries_[place].key != key) place = (place + 1) & mask;
  return entries_[place];
}

void BlameTable::Grow() {
  std::vector<Entry> old(entries_.size() * 2);
  old.swap(entries_);
  for (const Entry& entry : old) {
    if (entry.used) Find(entry.key) = entry;
  }
}

Blame& BlameTable::operator[](const BlameKey& key) {
  if (used_ * 2 >= entries_.size()) Grow();
  Entry& entry = Find(key);
  if (!entry.used) {
    entry = {key, true, {}};
    ++used_;
  }
  return entry.blame;
}

BlamedLines::BlamedLines(const Machine& machine, std::uint32_t line_shift, std::uint64_t lines,
                         std::uint32_t windows)
    : machine_(machine),
      unit_shift_(line_shift - 6),
      windows_(windows),
      lines_(lines),
      losses_(lines * machine.cpus),
      counts_(lines) {}

std::uint64_t BlamedLines::Touched(const LineAccess& access) const {
  const std::uint32_t first = access.offset >> unit_shift_;
  const std::uint32_t last = (access.offset + access.width - 1) >> unit_shift_;
  return ~std::uint64_t{0} << first & ~std::uint64_t{0} >> (63 - last);
}

// The CPUs without a copy have not seen what the owner stored; who gets one from now on has.
void BlamedLines::Publish(Line& line, Loss* losses) const {
  if (line.written == 0) return;
  for (std::uint32_t cpu = 0; cpu < machine_.cpus; ++cpu) {
    if (!line.copies.HeldBy(cpu)) losses[cpu].unseen |= line.written;
  }
  line.written = 0;
}

void BlamedLines::Own(Line& line, Loss* losses, const LineAccess& access) const {
  line.writer = {access.site, access.cpu + 1};
  for (std::uint64_t rest = line.copies.Others(access.cpu); rest != 0; rest &= rest - 1) {
    losses[std::countr_zero(rest)] = {0, line.writer};
  }
}

void BlamedLines::Count(std::uint64_t number, const LineAccess& access) {
  LineCounts& counts = counts_[number];
  std::uint64_t& counter = Counter(counts.events, lines_[number].copies, access.cpu, access.stores, machine_);
  ++counter;
  if (&counter == &counts.events.hits || &counter == &counts.events.cold_miss) return;
  if (counts.windows.empty()) counts.windows.resize(windows_);
  ++counts.windows[access.window];
}

void BlamedLines::Record(std::uint64_t number, const Loss& loss, const LineAccess& access) {
  const Line& line = lines_[number];
  const bool modified = line.copies.ModifiedElsewhere(access.cpu);
  const Origin writer = loss.taker.cpu == 0 && modified ? line.writer : loss.taker;
  if (writer.cpu == 0) return;
  const std::uint32_t supplier = modified ? line.copies.owner - 1u : writer.cpu - 1;
  const bool remote = machine_.node_of_cpu[supplier] != machine_.node_of_cpu[access.cpu];
  Blame& blame = blames_[{number, access.site, writer.site}];
  const bool own_bytes = (loss.unseen & Touched(access)) != 0;
  ++(remote ? blame.remote : blame.local)[own_bytes];
}

void BlamedLines::Access(std::uint64_t number, const LineAccess& access) {
  Line& line = lines_[number];
  Count(number, access);
  Loss* losses = &losses_[number * machine_.cpus];
  if (!line.copies.HeldBy(access.cpu)) {
    Publish(line, losses);
    Record(number, losses[access.cpu], access);
    losses[access.cpu] = {};
  }
  if (access.stores) {
    const bool owned = line.copies.modified && line.copies.owner == access.cpu + 1;
    if (!owned) Own(line, losses, access);
    line.written |= Touched(access);
  }
  Change(line.copies, access.cpu, access.stores);
}

}  // namespace linesmith::replay
