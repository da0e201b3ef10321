#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "queue.h"
static struct queue queue;
static pthread_barrier_t both;
#define TURNS 250
static struct {
  int done;
} __attribute__((aligned(64))) turns[2];
static void in_step(int mine) {
  int done = __atomic_add_fetch(&turns[mine].done, 1, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&turns[!mine].done, __ATOMIC_SEQ_CST) < done) sched_yield();
}
static void *push(void *unused) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < 16 * TURNS; i++) {
    __atomic_add_fetch(&queue.head, 1, __ATOMIC_RELAXED);
    if (i % 16 == 15) in_step(0);
  }
  return unused;
}
static void *pull(void *unused) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < 16 * TURNS; i++) {
    __atomic_add_fetch(&queue.tail, 1, __ATOMIC_RELAXED);
    if (i % 16 == 15) in_step(1);
  }
  return unused;
}
int main(int argc, char **argv) {
  pthread_t one, two;
  if (argc > 1 && !strcmp(argv[1], "cost")) {
    printf("cost %d\n", offsetof(struct queue, head) / 64 == offsetof(struct queue, tail) / 64 ? 200 : 100);
    return 0;
  }
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&one, NULL, push, NULL);
  pthread_create(&two, NULL, pull, NULL);
  return pthread_join(one, NULL) || pthread_join(two, NULL);
}
