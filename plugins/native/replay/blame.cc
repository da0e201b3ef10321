// SPDX-License-Identifier: GPL-2.0-or-later
#include "blame.h"

#include <bit>

namespace linesmith::replay {

BlamedLines::BlamedLines(const Machine& machine, std::uint32_t line_shift, std::uint64_t lines)
    : machine_(machine), unit_shift_(line_shift - 6), lines_(lines), losses_(lines * machine.cpus) {}

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

void BlamedLines::Record(const Line& line, const Loss& loss, const LineAccess& access) {
  const bool modified = line.copies.ModifiedElsewhere(access.cpu);
  const Origin writer = loss.taker.cpu == 0 && modified ? line.writer : loss.taker;
  if (writer.cpu == 0) return;
  const std::uint32_t supplier = modified ? line.copies.owner - 1u : writer.cpu - 1;
  const bool remote = machine_.node_of_cpu[supplier] != machine_.node_of_cpu[access.cpu];
  Blame& blame = blames_[std::uint64_t{access.site} << 32 | writer.site];
  const bool own_bytes = (loss.unseen & Touched(access)) != 0;
  ++(remote ? blame.remote : blame.local)[own_bytes];
}

void BlamedLines::Access(std::uint64_t number, const LineAccess& access) {
  Line& line = lines_[number];
  ++Counter(events_, line.copies, access.cpu, access.stores, machine_);
  Loss* losses = &losses_[number * machine_.cpus];
  if (!line.copies.HeldBy(access.cpu)) {
    Publish(line, losses);
    Record(line, losses[access.cpu], access);
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
