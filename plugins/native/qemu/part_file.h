// SPDX-License-Identifier: GPL-2.0-or-later
// A file that appears under its name only when it is whole.
#ifndef LINESMITH_PART_FILE_H
#define LINESMITH_PART_FILE_H

#include <stdio.h>

struct part_file {
  FILE *stream;
  const char *path;  // where it will appear; the caller's
  char *part;        // where it is written
};

/** Opens PATH.part for writing; returns 0 or an errno. */
int part_file_open(struct part_file *file, const char *path);

/** Gives the file its name where `error` is 0, and removes it otherwise; returns 0, `error`, or an errno. */
int part_file_close(struct part_file *file, int error);

#endif
