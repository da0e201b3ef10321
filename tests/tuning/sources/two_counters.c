/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two threads, each of which counts in a member of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct counters { volatile long first, second; };
static struct counters counted __attribute__((aligned(64)));
static long rounds;
static void *one(void *counter) {
  for (long i = 0; i < rounds; ++i) ++*(volatile long *)counter;
  return 0;
}
int main(int argc, char **argv) {
  pthread_t other;
  (void)argc;
  rounds = atol(argv[1]);
  pthread_create(&other, 0, one, (void *)&counted.second);
  one((void *)&counted.first);
  pthread_join(other, 0);
  FILE *made = fopen("made", "w");
  fclose(made);
  return puts("counted") < 0;
}
