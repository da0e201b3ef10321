// SPDX-License-Identifier: GPL-2.0-or-later
// Loops that make CPUs meet in one part of a kernel each, for recordings that are to be compared.
#ifndef LINESMITH_WORKLOAD_H
#define LINESMITH_WORKLOAD_H

/// One of the workers, each pinned to a CPU of its own.
struct worker {
  int index;
  int workers;
  long iterations;
};

/// A loop with what it needs. Its length is counted in iterations, not in seconds: two recordings of it do
/// the same work however slow the machine is.
struct workload {
  const char *name;
  const char *about;
  /// What all workers share, made before any of them starts; null where there is nothing to share.
  void *(*prepare)(int workers);
  void (*run)(const struct worker *worker, void *shared);
  /// Takes away what `prepare` left in the file system; null where it left nothing.
  void (*finish)(void *shared);
};

/// End the process with status 2 and the system's reason; `what` is the call that failed.
_Noreturn void fail(const char *what);

/// The workloads of each part, each list closed by an entry without a name.
extern const struct workload exec_workloads[];
extern const struct workload memory_workloads[];
extern const struct workload file_workloads[];
extern const struct workload channel_workloads[];
extern const struct workload signal_workloads[];
extern const struct workload futex_workloads[];
extern const struct workload cgroup_workloads[];

#endif
