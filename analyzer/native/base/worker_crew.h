// SPDX-License-Identifier: GPL-2.0-or-later
// Several threads taking numbered jobs from one queue; the calling thread is one of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace linesmith {

// Calls `job(worker, index)` once for every index below `count`, in ascending order per worker. When jobs
// fail, the failure of the lowest index is thrown after all workers have stopped, so that errors are
// repeatable.
inline void RunJobs(unsigned workers, std::size_t count,
                    const std::function<void(unsigned worker, std::size_t index)>& job) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex failure_lock;
  std::exception_ptr failure;
  std::size_t failed_index = count;
  const auto work = [&](unsigned worker) {
    for (std::size_t index = next++; index < count && !stop; index = next++) {
      try {
        job(worker, index);
      } catch (...) {
        const std::scoped_lock lock(failure_lock);
        stop = true;
        if (index < failed_index) {
          failed_index = index;
          failure = std::current_exception();
        }
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
}

// What to use when the caller asks for `wanted` threads (0: one per processor).
inline unsigned WorkerCount(unsigned wanted, std::size_t jobs) {
  const unsigned processors = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t most = std::max<std::size_t>(1, std::min<std::size_t>(jobs, 64));
  return static_cast<unsigned>(std::min<std::size_t>(wanted == 0 ? processors : wanted, most));
}

}  // namespace linesmith
