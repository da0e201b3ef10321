// SPDX-License-Identifier: GPL-2.0-or-later
// Prints what one access costs the coherence simulation, in nanoseconds of CPU time, and one call of the
// trace writer.
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <memory>

#include "coherence.h"
#include "trace.h"

namespace {

constexpr std::uint64_t kBase = 0xffff888000000000;
constexpr std::uint64_t kSteps = 20'000'000;
constexpr std::uint32_t kCpus = 8;

using Simulation = std::unique_ptr<coherence, decltype(&coherence_destroy)>;

double Nanoseconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// An order that neither a cache of the host nor zlib can guess.
std::uint64_t Scattered(std::uint64_t step) {
  step = (step ^ step >> 30) * 0xbf58476d1ce4e5b9;
  step = (step ^ step >> 27) * 0x94d049bb133111eb;
  return step ^ step >> 31;
}

template <typename Access>
void Measure(const char* what, Access access) {
  access(0);
  const double begin = Nanoseconds();
  for (std::uint64_t step = 1; step <= kSteps; ++step) access(step);
  std::printf("%-58s %6.1f ns\n", what, (Nanoseconds() - begin) / kSteps);
}

Simulation MakeSimulation() {
  const coherence_config config = coherence_default_config(kCpus);
  return {coherence_create(&config), coherence_destroy};
}

template <typename Access>
void MeasureSimulation(const char* what, Access access) {
  const Simulation sim = MakeSimulation();
  Measure(what, [&](std::uint64_t step) { access(sim.get(), step); });
}

coherence_kind OneStoreIn(std::uint64_t count, std::uint64_t step) {
  return step % count == 0 ? COHERENCE_STORE : COHERENCE_LOAD;
}

void MeasureHits() {
  MeasureSimulation("hit, 16 KiB of one CPU", [](coherence* sim, std::uint64_t step) {
    coherence_access(sim, 0, kBase + step * 8 % 0x4000, 8, OneStoreIn(4, step), 5);
  });
  MeasureSimulation("hit, 256 KiB of each of 8 CPUs, 1000 at a time", [](coherence* sim, std::uint64_t step) {
    const std::uint32_t cpu = step / 1000 % kCpus;
    const std::uint64_t address = kBase + cpu * 0x100000 + Scattered(step) % 0x8000 * 8;
    coherence_access(sim, cpu, address, 8, OneStoreIn(4, step), 5);
  });
  MeasureSimulation("hit, a line that was contended before", [](coherence* sim, std::uint64_t step) {
    const std::uint32_t cpu = step < 100 ? step % 2 : 0;
    coherence_access(sim, cpu, kBase, 8, OneStoreIn(2, step), 5);
  });
}

void MeasureMisses() {
  MeasureSimulation("two CPUs store in turn", [](coherence* sim, std::uint64_t step) {
    coherence_access(sim, step % 2, kBase, 8, COHERENCE_STORE, 5);
  });
  MeasureSimulation("one CPU stores, one loads, in turn", [](coherence* sim, std::uint64_t step) {
    coherence_access(sim, step % 2, kBase, 8, OneStoreIn(2, step), 5);
  });
  MeasureSimulation("anywhere in 128 MiB, one CPU", [](coherence* sim, std::uint64_t step) {
    coherence_access(sim, 0, kBase + Scattered(step) % 0x1000000 * 8, 8, OneStoreIn(4, step), 5);
  });
}

void MeasureTrace() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> out{std::fopen("/dev/null", "w"), std::fclose};
  trace_settings settings{};
  settings.cpus = kCpus;
  trace_writer* writer = trace_writer_create(out.get(), &settings, UINT64_MAX);
  Measure("trace, half of it repeats, 1000 at a time", [&](std::uint64_t step) {
    trace_slice(writer, step / 1000 % kCpus);
    const std::uint64_t address = kBase + Scattered(step / 2) % 0x8000 * 8;
    trace_access(writer, address, 8, OneStoreIn(4, step), static_cast<std::uint32_t>(step % 3000));
  });
  const trace_counts counts = trace_writer_counts(writer);
  std::printf("%-58s %6.1f\n", "  bytes of the file for each event",
              static_cast<double>(counts.bytes) / static_cast<double>(counts.events));
  trace_writer_finish(writer, nullptr, 0);
}

}  // namespace

int main() {
  MeasureHits();
  MeasureMisses();
  MeasureTrace();
  return 0;
}
