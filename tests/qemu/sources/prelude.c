
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define START __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 0x01, 0x4d, 0x53, 0x4c" ::: "memory")
#define STOP __asm__ volatile(".byte 0x0f, 0x1f, 0x80, 0x00, 0x4d, 0x53, 0x4c" ::: "memory")
enum { ROUNDS = 100000 };
static _Alignas(64) struct { pthread_barrier_t barrier; char apart[128]; } start;
#define both start.barrier
/* Runs the two at once, however late the second thread starts. */
static void together(void *(*one)(void *), void *(*two)(void *)) {
  pthread_t first, second;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&first, NULL, one, NULL);
  pthread_create(&second, NULL, two, NULL);
  pthread_join(first, NULL);
  pthread_join(second, NULL);
}
