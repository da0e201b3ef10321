// SPDX-License-Identifier: GPL-2.0-or-later
#include "course.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <unordered_map>

#include "copies.h"

namespace linesmith::replay {
namespace {

constexpr std::uint64_t kMostAccesses = std::uint64_t{1} << 24;
constexpr std::uint32_t kMostSites = 1 << 16;
constexpr double kMostOften = 1000;
constexpr std::uint32_t kMostIdle = 10'000;  // turns in a row in which nothing was accessed
constexpr std::uint32_t kLineShift = 6;

void Check(bool holds, const char* complaint) {
  if (!holds) throw std::invalid_argument(complaint);
}

// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  // From 0 to below 1.
  double Next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return static_cast<double>((mixed ^ mixed >> 31) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

// The number of one of the weights, as likely as it is heavy.
std::size_t Choose(const std::vector<double>& weights, double total, Draws& draws) {
  double left = draws.Next() * total;
  for (std::size_t number = 0; number + 1 < weights.size(); ++number) {
    if (left < weights[number]) return number;
    left -= weights[number];
  }
  return weights.size() - 1;
}

// A bit for each byte of the access in the line where it begins.
std::uint64_t BytesOf(const Step& step) {
  const std::uint64_t begin = step.address & 63;
  const std::uint64_t size = std::min<std::uint64_t>(step.width, 64 - begin);
  return ~std::uint64_t{0} >> (64 - size) << begin;
}

struct Line {
  Copies copies;
  std::vector<std::uint64_t> used;  // by CPU, bytes that it accessed since it fetched the line
};

struct Worker {
  std::uint32_t cpu = 0;
  std::vector<const Task*> tasks;
  std::vector<double> shares;
  double speed = 0;
  std::vector<const Step*> turn;  // what is left of it begins at `next`
  std::size_t next = 0;
  const Task* wanted = nullptr;  // the task for whose lock it waits
  std::uint32_t held = 0;        // the lock that it has
};

class Interleaving {
 public:
  Interleaving(const Machine& machine, const std::vector<Task>& tasks, double handover, double ending,
               std::uint64_t seed)
      : machine_(machine), handover_(handover), ending_(ending), draws_(seed) {
    std::uint32_t sites = 0;
    std::uint32_t locks = 0;
    for (const Task& task : tasks) {
      CheckTask(task);
      locks = std::max(locks, task.lock);
      for (const std::vector<Step>* steps : {&task.does, &task.waits}) {
        for (const Step& step : *steps) sites = std::max(sites, step.site + 1);
      }
    }
    taken_.resize(std::size_t{locks} + 1);
    course_.counts.resize(sites);
    course_.shadowed.resize(sites);
    for (std::uint32_t cpu = 0; cpu < machine.cpus; ++cpu) AddWorker(cpu, tasks);
    Check(!workers_.empty(), "no CPU has anything to do");
  }

  Course Run(std::uint64_t accesses) {
    course_.events.reserve(accesses);
    std::uint32_t idle = 0;
    while (course_.events.size() < accesses) {
      const std::size_t before = course_.events.size();
      Slice(workers_[Choose(speeds_, speed_, draws_)], accesses);
      idle = course_.events.size() == before ? idle + 1 : 0;
      Check(idle < kMostIdle, "the tasks make too few accesses");
      ++slice_;
    }
    return std::move(course_);
  }

 private:
  static void CheckTask(const Task& task) {
    Check(task.share > 0 && task.share < 1e12, "the share of a task is not positive");
    Check(task.lock < kMostSites, "there are too many locks");
    for (const std::vector<Step>* steps : {&task.does, &task.waits}) {
      for (const Step& step : *steps) {
        Check(step.often >= 0 && step.often <= kMostOften, "an access is made too often");
        Check(step.width >= 1 && step.width <= COHERENCE_MAX_WIDTH, "an access has no bytes, or too many");
        Check(step.site < kMostSites, "there are too many sites");
      }
    }
  }

  void AddWorker(std::uint32_t cpu, const std::vector<Task>& tasks) {
    Worker worker;
    worker.cpu = cpu;
    for (const Task& task : tasks) {
      if ((task.cpus >> cpu & 1) == 0) continue;
      worker.tasks.push_back(&task);
      worker.shares.push_back(task.share);
      worker.speed += task.share;
    }
    if (worker.tasks.empty()) return;
    speeds_.push_back(worker.speed);
    speed_ += worker.speed;
    workers_.push_back(std::move(worker));
  }

  // The next accesses of a CPU, up to where another goes on.
  void Slice(Worker& worker, std::uint64_t accesses) {
    while (course_.events.size() < accesses) {
      if (worker.next == worker.turn.size() && !BeginTurn(worker)) return;
      if (worker.next < worker.turn.size()) {
        Access(worker.cpu, *worker.turn[worker.next++]);
        const bool done = worker.next == worker.turn.size();
        if (draws_.Next() < (done ? ending_ : handover_)) return;
      }
    }
  }

  // Ends the turn that is done and begins another; false where others come first.
  bool BeginTurn(Worker& worker) {
    worker.turn.clear();
    worker.next = 0;
    if (worker.held != 0) {
      taken_[worker.held] = false;
      worker.held = 0;
      return false;  // who waits may be next
    }
    const bool waited = worker.wanted != nullptr;
    const Task& task = waited ? *worker.wanted : *worker.tasks[Choose(worker.shares, worker.speed, draws_)];
    if (task.lock != 0 && taken_[task.lock]) {
      worker.wanted = &task;
      Expand(task.waits, worker);
      return !waited && !worker.turn.empty();
    }
    if (task.lock != 0) {
      taken_[task.lock] = true;
      worker.held = task.lock;
    }
    worker.wanted = nullptr;
    Expand(task.does, worker);
    return !worker.turn.empty();
  }

  void Expand(const std::vector<Step>& steps, Worker& worker) {
    for (const Step& step : steps) {
      auto times = static_cast<std::uint32_t>(step.often);
      times += draws_.Next() < step.often - times;
      worker.turn.insert(worker.turn.end(), times, &step);
    }
  }

  void Access(std::uint32_t cpu, const Step& step) {
    const bool stores = step.kind != COHERENCE_LOAD;
    const std::uint64_t first = step.address >> kLineShift;
    const std::uint64_t last = (step.address + step.width - 1) >> kLineShift;
    for (std::uint64_t line = first; line <= last; ++line) {
      Line& here = lines_[line];
      if (here.used.empty()) here.used.resize(machine_.cpus);
      if (line == first) Count(here, cpu, step.site, stores, BytesOf(step));
      Change(here.copies, cpu, stores);
    }
    course_.events.push_back({step.address, step.site, step.width, cpu, slice_, step.kind});
  }

  void Count(Line& line, std::uint32_t cpu, std::uint32_t site, bool stores, std::uint64_t bytes) {
    const bool held = line.copies.HeldBy(cpu);
    ++Counter(course_.counts[site], line.copies, cpu, stores, machine_);
    std::uint64_t& used = line.used[cpu];
    if (!held) used = 0;
    if (held && (bytes & ~used) != 0) ++course_.shadowed[site];
    used |= bytes;
  }

  const Machine& machine_;
  double handover_;
  double ending_;
  Draws draws_;
  std::vector<Worker> workers_;
  std::vector<double> speeds_;
  double speed_ = 0;
  std::vector<bool> taken_;  // by lock
  std::unordered_map<std::uint64_t, Line> lines_;
  std::uint32_t slice_ = 0;
  Course course_;
};

}  // namespace

Course MakeCourse(const Machine& machine, const std::vector<Task>& tasks, double handover, double ending,
                  std::uint64_t accesses, std::uint64_t seed) {
  Check(accesses <= kMostAccesses, "the run is too long");
  Check(handover > 0 && handover <= 1 && ending > 0 && ending <= 1, "the handover is no probability");
  return Interleaving(machine, tasks, handover, ending, seed).Run(accesses);
}

}  // namespace linesmith::replay
