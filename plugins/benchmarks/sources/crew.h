// SPDX-License-Identifier: GPL-2.0-or-later
// Workers that begin together, and what they got done.
#ifndef LINESMITH_CREW_H
#define LINESMITH_CREW_H

#include <stdbool.h>

enum { MOST_WORKERS = 1024 };

/// How much to do: `operations` of each worker, or as many as it can in `seconds` where that is not 0. Each
/// worker has a CPU of its own, as long as there are any, unless it may run `anywhere`.
struct order {
  int workers;
  bool processes;
  bool anywhere;
  long operations;
  double seconds;
};

/// One of the workers; `done` counts its operations, `until` is a time of the monotonic clock or 0.
struct worker {
  int index;
  long operations;
  double until;
  long done;
};

/// What one worker does: operations, while `more_to_do` says so. `context` is shared by all.
typedef void work_function(struct worker *worker, void *context);

/// What an order is given by: options for getopt_long(3) and `take_order`.
#define ORDER_OPTIONS                                                                      \
  {"workers", required_argument, NULL, 'w'}, {"operations", required_argument, NULL, 'o'}, \
      {"seconds", required_argument, NULL, 's'}

/// Take the option, with its `optarg`, into the order; false for one that is none of those.
bool take_order(struct order *order, int option);

/// End the process with status 2 and the system's reason; `what` is the call that failed.
_Noreturn void fail(const char *what);

/// A whole number from `least` to `most`; ends the process with status 2 when `text` is none.
long whole_number(const char *option, const char *text, long least, long most);

/// Whether the worker has operations, or time, left.
bool more_to_do(const struct worker *worker);

/// Run the crew to its end and print what it did, a word and a number a line.
void run_crew(const char *benchmark, const struct order *order, work_function *work, void *context);

#endif
