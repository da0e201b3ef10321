// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "host_thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int host_thread_number(void) { return (int)gettid(); }

bool host_thread_sleeps(int number) {
  char text[256];
  snprintf(text, sizeof text, "/proc/self/task/%d/stat", number);
  int file = open(text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size < 0 ? 0 : size] = '\0';
  const char *name_end = strrchr(text, ')');
  return !name_end || name_end[1] != ' ' || (name_end[2] != 'R' && name_end[2] != 'D');
}
