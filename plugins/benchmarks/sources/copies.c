// SPDX-License-Identifier: GPL-2.0-or-later
// copies [--workers N] [--file PATH]... [--nobody] -- COMMAND...
//
// Runs so many copies of a command at the same time, in a fresh folder that holds a link to each of the
// files, and tells how long that took. The copies run where the scheduler puts them. With --nobody, root runs
// them as a user without rights, for some programs refuse to run as root. The folder goes when they end.
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <getopt.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crew.h"

enum { OPEN_FOLDERS = 16, NOBODY = 65534 };

/// What every worker runs.
struct task {
  char **command;
  bool nobody;
};

static char folder[PATH_MAX];
static pid_t owner;

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
  (void)facts;
  (void)kind;
  (void)place;
  return remove(path);
}

/// Called at every end of the program; only its first process may take the folder away.
static void remove_folder(void) {
  if (getpid() == owner) nftw(folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
}

static void enter_folder(void) {
  const char *parent = getenv("TMPDIR");
  snprintf(folder, sizeof(folder), "%s/copies.XXXXXX", parent && *parent ? parent : "/tmp");
  if (!mkdtemp(folder)) fail(folder);
  owner = getpid();
  atexit(remove_folder);
  if (chdir(folder)) fail(folder);
}

/// A file of a name that starts at the root, under its own name in the folder.
static void link_here(const char *path) {
  const char *slash = strrchr(path, '/');
  if (symlink(path, slash ? slash + 1 : path)) fail(path);
}

static _Noreturn void become(const struct task *task) {
  if (task->nobody && !geteuid() && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
    perror("setuid");
  execvp(*task->command, task->command);
  perror(*task->command);
  _exit(127);
}

static void run_command(struct worker *worker, void *context) {
  const struct task *task = context;
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) become(task);
  int status;
  if (waitpid(child, &status, 0) < 0) fail("waitpid");
  if (status) {
    fprintf(stderr, "copies: %s ended with status %d\n", *task->command,
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    _exit(2);
  }
  worker->done = 1;
}

static const struct option options[] = {{"workers", required_argument, NULL, 'w'},
                                        {"file", required_argument, NULL, 'f'},
                                        {"nobody", no_argument, NULL, 'n'},
                                        {0}};

int main(int count, char **words) {
  struct order order = {.workers = 1, .processes = true, .anywhere = true, .operations = 1};
  struct task task = {0};
  enter_folder();
  for (int option; (option = getopt_long(count, words, "+", options, NULL)) != -1;) {
    if (option == 'w')
      order.workers = (int)whole_number("--workers", optarg, 1, MOST_WORKERS);
    else if (option == 'f')
      link_here(optarg);
    else if (option == 'n')
      task.nobody = true;
    else
      return 2;
  }
  if (optind == count) {
    fprintf(stderr, "usage: copies [--workers N] [--file PATH]... [--nobody] -- COMMAND...\n");
    return 2;
  }
  if (task.nobody && !geteuid() && chown(folder, NOBODY, NOBODY)) fail(folder);
  task.command = words + optind;
  run_crew("copies", &order, run_command, &task);
  return 0;
}
