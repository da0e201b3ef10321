// SPDX-License-Identifier: GPL-2.0-or-later
#include "course.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
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

// Bytes of a line for one CPU: those it accessed since it fetched the line, and those it stored to while it
// alone had it; those that others stored to after it lost the line, and those of them when it fetched it.
struct Copy {
  std::uint64_t used = 0;
  std::uint64_t written = 0;
  std::uint64_t stored = 0;
  std::uint64_t news = 0;
};

struct Line {
  Copies copies;
  std::vector<Copy> by_cpu;
};

// A lock: whether a turn is under it, and who waits, the first of them in front.
struct Lock {
  bool taken = false;
  std::deque<std::size_t> waiting;  // workers by number
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
  double hold = 0;               // how likely another goes on while it has it
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
      for (const Step& step : task.steps) sites = std::max(sites, step.site + 1);
    }
    locks_.resize(std::size_t{locks} + 1);
    course_.counts.resize(sites);
    course_.shadowed.resize(sites);
    course_.shared.resize(sites);
    course_.stored.resize(sites);
    for (std::uint32_t cpu = 0; cpu < machine.cpus; ++cpu) AddWorker(cpu, tasks);
    Check(!workers_.empty(), "no CPU has anything to do");
  }

  Course Run(std::uint64_t accesses) {
    course_.events.reserve(accesses);
    std::uint32_t idle = 0;
    while (course_.events.size() < accesses) {
      const std::size_t before = course_.events.size();
      Slice(Choose(speeds_, speed_, draws_), accesses);
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
    for (const Step& step : task.steps) {
      Check(step.often >= 0 && step.often <= kMostOften, "an access is made too often");
      Check(step.gap >= 0 && step.gap <= 1, "a gap is no probability");
      Check(step.width >= 1 && step.width <= COHERENCE_MAX_WIDTH, "an access has no bytes, or too many");
      Check(step.site < kMostSites, "there are too many sites");
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
  void Slice(std::size_t number, std::uint64_t accesses) {
    Worker& worker = workers_[number];
    while (course_.events.size() < accesses) {
      if (worker.next == worker.turn.size() && !Begin(number)) return;
      if (worker.held != 0 && draws_.Next() < worker.hold * Gap(worker)) return;
      if (worker.next == worker.turn.size()) continue;
      Access(worker.cpu, *worker.turn[worker.next++]);
      const bool done = worker.next == worker.turn.size();
      if (draws_.Next() < (done ? ending_ : handover_ * Gap(worker))) return;
    }
  }

  // How much of the usual probability another CPU has to come in front of what is next in the turn.
  static double Gap(const Worker& worker) {
    return worker.next < worker.turn.size() ? worker.turn[worker.next]->gap : 1;
  }

  // Ends what is done and begins what comes next: a turn, or a look at a lock that is waited for. False where
  // others come first.
  bool Begin(std::size_t number) {
    Worker& worker = workers_[number];
    worker.turn.clear();
    worker.next = 0;
    if (worker.held != 0) {
      Release(worker);
      return false;  // who waits may be next
    }
    if (worker.wanted != nullptr) return Wait(number);
    const Task& task = *worker.tasks[Choose(worker.shares, worker.speed, draws_)];
    Expand(task, When::kTry, worker);
    const Lock& lock = locks_[task.lock];
    if (task.lock == 0 || (!lock.taken && (!task.fair || lock.waiting.empty()))) {
      Take(task, When::kFree, worker);
    } else {
      Expand(task, When::kQueue, worker);
      worker.wanted = &task;
      locks_[task.lock].waiting.push_back(number);
      Weigh(number);
    }
    return !worker.turn.empty();
  }

  // Of those who wait only the first goes on: when the lock is free, or to look at it.
  bool Wait(std::size_t number) {
    Worker& worker = workers_[number];
    const Task& task = *worker.wanted;
    Lock& lock = locks_[task.lock];
    if (lock.waiting.front() != number) return false;
    if (lock.taken) {
      Expand(task, When::kSpin, worker);
      if (!worker.turn.empty()) Access(worker.cpu, *worker.turn[0]);
      worker.next = worker.turn.size();
      return false;
    }
    worker.wanted = nullptr;
    lock.waiting.pop_front();
    Expand(task, When::kSpin, worker);  // and sees that it is free
    Take(task, When::kTurn, worker);
    return !worker.turn.empty();
  }

  void Take(const Task& task, When how, Worker& worker) {
    if (task.lock != 0) {
      Lock& lock = locks_[task.lock];
      lock.taken = true;
      worker.held = task.lock;
      worker.hold = task.hold;
      if (!lock.waiting.empty()) Weigh(lock.waiting.front());
    }
    Expand(task, how, worker);
    Expand(task, When::kDo, worker);
  }

  void Release(Worker& worker) {
    Lock& lock = locks_[worker.held];
    worker.held = 0;
    lock.taken = false;
    if (!lock.waiting.empty()) Weigh(lock.waiting.front());
  }

  // How fast a CPU goes: not at all while it waits behind others, or sleeps until the lock is free.
  void Weigh(std::size_t number) {
    const Task* wanted = workers_[number].wanted;
    const double speed = wanted != nullptr && Stands(*wanted, number) ? 0 : workers_[number].speed;
    speed_ += speed - speeds_[number];
    speeds_[number] = speed;
  }

  bool Stands(const Task& wanted, std::size_t number) const {
    const Lock& lock = locks_[wanted.lock];
    if (lock.waiting.front() != number) return true;
    const auto spins = [](const Step& step) { return step.when == When::kSpin && step.often > 0; };
    return lock.taken && std::none_of(wanted.steps.begin(), wanted.steps.end(), spins);
  }

  // What is seldom done under a lock goes together: where an operation goes down a branch, all of it is done.
  void Expand(const Task& task, When when, Worker& worker) {
    const double branch = draws_.Next();
    for (const Step& step : task.steps) {
      if (step.when != when) continue;
      auto times = static_cast<std::uint32_t>(step.often);
      times += (task.lock != 0 ? branch : draws_.Next()) < step.often - times;
      worker.turn.insert(worker.turn.end(), times, &step);
    }
  }

  void Access(std::uint32_t cpu, const Step& step) {
    const std::uint64_t first = step.address >> kLineShift;
    const std::uint64_t last = (step.address + step.width - 1) >> kLineShift;
    for (std::uint64_t line = first; line <= last; ++line) {
      Line& here = lines_[line];
      if (here.by_cpu.empty()) here.by_cpu.resize(machine_.cpus);
      Count(here, cpu, step, line == first);
    }
    course_.events.push_back({step.address, step.site, step.width, cpu, slice_, step.kind});
  }

  // An access counts where it begins.
  void Count(Line& line, std::uint32_t cpu, const Step& step, bool begins) {
    const bool stores = step.kind != COHERENCE_LOAD;
    const bool held = line.copies.HeldBy(cpu);
    Copy& copy = line.by_cpu[cpu];
    if (!held) copy = {0, 0, 0, copy.stored};
    if (line.copies.owner != cpu + 1) copy.written = 0;
    if (begins) {
      const std::uint64_t bytes = BytesOf(step);
      const bool shadowed = held && (bytes & ~copy.used) != 0;
      ++Counter(course_.counts[step.site], line.copies, cpu, stores, machine_);
      course_.shadowed[step.site] += shadowed;
      course_.shared[step.site] += (shadowed || !held) && (bytes & copy.news) != 0;
      course_.stored[step.site] += stores && (bytes & ~copy.written) != 0;
      copy.used |= bytes;
      if (stores) copy.written |= bytes;
      for (std::uint32_t other = 0; stores && other < machine_.cpus; ++other) {
        if (other != cpu) line.by_cpu[other].stored |= bytes;
      }
    }
    Change(line.copies, cpu, stores);
  }

  const Machine& machine_;
  double handover_;
  double ending_;
  Draws draws_;
  std::vector<Worker> workers_;
  std::vector<double> speeds_;
  double speed_ = 0;
  std::vector<Lock> locks_;
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
