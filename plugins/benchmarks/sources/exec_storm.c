// SPDX-License-Identifier: GPL-2.0-or-later
// exec-storm [--workers N] [--operations N | --seconds S] [--files N] [--directory PATH]
//
// Each worker runs one small program after the other: this one, which maps a few files that all of them map.
// So the trees that a kernel keeps for each file, of the places that map it, are changed from all CPUs: for
// the program and its libraries, as scripts and builds do, and for `files` more, whose inodes lie at
// different places of a slab.
#define _GNU_SOURCE
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crew.h"

enum { FIRST_FILE = 200, MOST_FILES = 64, FILE_BYTES = 16384 };

/// What every worker runs.
struct storm {
  char program[PATH_MAX];
  char files[8];
};

static void map_one(int file, int protection) {
  volatile char *start = mmap(NULL, FILE_BYTES, protection, MAP_PRIVATE, file, 0);
  if (start == MAP_FAILED) fail("mmap");
  if (protection & PROT_WRITE)
    *start = 1;
  else
    (void)*start;
}

/// The small program: it maps each file as a loader maps a library, its text and its data.
static void map_files(const char *files) {
  const int count = (int)whole_number("--child", files, 0, MOST_FILES);
  for (int each = 0; each < count; ++each) {
    map_one(FIRST_FILE + each, PROT_READ);
    map_one(FIRST_FILE + each, PROT_READ | PROT_WRITE);
  }
}

static void run_program(const struct storm *storm) {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    execl(storm->program, "exec-storm", "--child", storm->files, (char *)NULL);
    perror(storm->program);
    _exit(127);
  }
  int status;
  if (waitpid(child, &status, 0) < 0) fail("waitpid");
  if (status) _exit(2);
}

static void run_programs(struct worker *worker, void *context) {
  while (more_to_do(worker)) {
    run_program(context);
    ++worker->done;
  }
}

/// A file that has no name any more: nothing is left behind, whatever ends us.
static void make_file(const char *directory, int number) {
  char path[PATH_MAX];
  snprintf(path, sizeof(path), "%s/exec-storm.XXXXXX", directory);
  const int file = mkstemp(path);
  if (file < 0) fail(path);
  unlink(path);
  const char bytes[FILE_BYTES] = {1};
  if (write(file, bytes, sizeof(bytes)) != sizeof(bytes)) fail("write");
  if (dup2(file, FIRST_FILE + number) < 0) fail("dup2");
  close(file);
}

static void make_storm(struct storm *storm, const char *name, const char *directory, int files) {
  const ssize_t length = readlink("/proc/self/exe", storm->program, sizeof(storm->program) - 1);
  if (length > 0)
    storm->program[length] = '\0';
  else
    snprintf(storm->program, sizeof(storm->program), "%s", name);
  snprintf(storm->files, sizeof(storm->files), "%d", files);
  mkdir(directory, 01777);  // a guest's root may lack it; where it is there, this does nothing
  for (int each = 0; each < files; ++each) make_file(directory, each);
}

static const struct option options[] = {
    ORDER_OPTIONS,
    {"files", required_argument, NULL, 'f'},
    {"directory", required_argument, NULL, 'd'},
    {"child", required_argument, NULL, 'c'},
    {0},
};

/// What the words ask for.
struct request {
  struct order order;
  const char *directory;
  int files;
};

static void take(struct request *request, int option) {
  if (take_order(&request->order, option)) return;
  switch (option) {
    case 'f':
      request->files = (int)whole_number("--files", optarg, 0, MOST_FILES);
      break;
    case 'd':
      request->directory = optarg;
      break;
    default:
      exit(2);
  }
}

int main(int count, char **words) {
  if (count == 3 && !strcmp(words[1], "--child")) {
    map_files(words[2]);
    return 0;
  }
  struct request request = {
      .order = {.workers = 1, .processes = true, .operations = 1000}, .directory = "/tmp", .files = 8};
  for (int option; (option = getopt_long(count, words, "", options, NULL)) != -1;) take(&request, option);
  struct storm storm;
  make_storm(&storm, words[0], request.directory, request.files);
  run_crew("exec-storm", &request.order, run_programs, &storm);
  return 0;
}
