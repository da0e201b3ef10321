// SPDX-License-Identifier: GPL-2.0-or-later
// Memory that is charged to sibling control groups, and so to their common parent. Needs root and the unified
// hierarchy.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "workload.h"

enum { PAGES = 256 };

/// Where the hierarchy is mounted, and the parent group in it.
struct groups {
  char root[32];
  int workers;
};

static int put(const char *root, const char *file, const char *text) {
  char path[128];
  snprintf(path, sizeof(path), "%s/%s", root, file);
  const int out = open(path, O_WRONLY);
  if (out < 0) return -1;
  const ssize_t written = write(out, text, strlen(text));
  close(out);
  return written < 0 ? -1 : 0;
}

static void add_group(const char *root, const char *name) {
  char path[128];
  snprintf(path, sizeof(path), "%s/%s", root, name);
  if (mkdir(path, 0755) && errno != EEXIST) fail(path);
}

/// Mount the hierarchy with its memory controller; where that one is kept from it, nothing stays mounted.
static void mount_groups(const struct groups *groups) {
  if (mount("none", groups->root, "cgroup2", 0, NULL)) fail("mount of cgroup2");
  if (put(groups->root, "cgroup.subtree_control", "+memory")) {
    const int reason = errno;
    umount(groups->root);
    rmdir(groups->root);
    errno = reason;
    fail("the memory controller of cgroup2");
  }
}

static void *sibling_groups(int workers) {
  struct groups *groups = malloc(sizeof(*groups));
  if (!groups) fail("malloc");
  *groups = (struct groups){.root = "/tmp/groups.XXXXXX", .workers = workers};
  mkdir("/tmp", 01777);  // a guest's root may lack it; where it is there, this does nothing
  if (!mkdtemp(groups->root)) fail("mkdtemp");
  mount_groups(groups);
  add_group(groups->root, "parent");
  if (put(groups->root, "parent/cgroup.subtree_control", "+memory")) fail("parent/cgroup.subtree_control");
  for (int each = 0; each < workers; ++each) {
    char name[32];
    snprintf(name, sizeof(name), "parent/%d", each);
    add_group(groups->root, name);
  }
  return groups;
}

static void enter(const struct groups *groups, int index) {
  char file[64];
  char self[16];
  snprintf(file, sizeof(file), "parent/%d/cgroup.procs", index);
  snprintf(self, sizeof(self), "%d", (int)getpid());
  if (put(groups->root, file, self)) fail(file);
}

static void memcg_charge(const struct worker *worker, void *shared) {
  enter(shared, worker->index);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (long done = 0; done < worker->iterations; ++done) {
    char *start = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) fail("mmap");
    for (size_t at = 0; at < PAGES; ++at) ((volatile char *)start)[at * page] = 1;
    munmap(start, PAGES * page);
  }
}

// The workers are gone by now, so their groups are empty.
static void remove_groups(void *shared) {
  struct groups *groups = shared;
  char path[64];
  for (int each = 0; each < groups->workers; ++each) {
    snprintf(path, sizeof(path), "%s/parent/%d", groups->root, each);
    rmdir(path);
  }
  snprintf(path, sizeof(path), "%s/parent", groups->root);
  rmdir(path);
  umount(groups->root);
  rmdir(groups->root);
  free(groups);
}

const struct workload cgroup_workloads[] = {
    {.name = "memcg_charge",
     .about = "write faults, each worker in a memory control group of its own under one parent",
     .prepare = sibling_groups,
     .run = memcg_charge,
     .finish = remove_groups},
    {0},
};
