// SPDX-License-Identifier: GPL-2.0-or-later
#define _GNU_SOURCE
#include "part_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int part_file_open(struct part_file *file, const char *path) {
  *file = (struct part_file){.path = path};
  if (asprintf(&file->part, "%s.part", path) < 0) return ENOMEM;
  file->stream = fopen(file->part, "wb");
  int error = file->stream ? 0 : errno;
  if (error) free(file->part);
  return error;
}

int part_file_close(struct part_file *file, int error) {
  if (fclose(file->stream) && !error) error = errno;
  if (!error && rename(file->part, file->path)) error = errno;
  if (error) unlink(file->part);
  free(file->part);
  return error;
}
