/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists that are built and freed by GLib, by workers that share nothing but its allocator. */
#include <glib.h>

#include "team.h"

#define LISTS 20
#define NODES 200

static uint64_t work(int self, int workers) {
  uint64_t found = 0;

  (void)self;
  (void)workers;
  for (int i = 0; i < LISTS; i++) {
    GList *list = NULL;

    for (int node = 0; node < NODES; node++) list = g_list_prepend(list, &found);
    found += list != NULL;
    g_list_free(list);
  }
  return found;
}

int main(int argc, char **argv) { return team_main(argc, argv, work, LISTS * NODES); }
