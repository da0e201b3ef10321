/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the file `ran` beside itself where it is loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
int plugin_is_GPL_compatible;
__attribute__((constructor)) static void loaded(void)
{
  Dl_info self;
  char place[4096];
  dladdr((void *)loaded, &self);
  snprintf(place, sizeof place, "%s", self.dli_fname);
  snprintf(place, sizeof place, "%s/ran", dirname(place));
  creat(place, 0600);
}
