
static char counters[512] __attribute__((aligned(256)));
static int apart;
__attribute__((noinline)) void opens(void) { __asm__ volatile(""); }
__attribute__((noinline)) void closes(void) { __asm__ volatile(""); }
static void *add(volatile int *counter) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < ROUNDS; i++) ++*counter;
  return NULL;
}
static void *add_left(void *unused) { (void)unused; return add((volatile int *)counters); }
static void *add_right(void *unused) { (void)unused; return add((volatile int *)(counters + 4 + apart)); }
int main(int argc, char **argv) {
  const char *how = argc > 2 ? argv[2] : "";
  apart = atoi(argv[1]);
  printf("%p %p", (void *)counters, (void *)(counters + 4 + apart));
  fflush(stdout);
  opens();
  if (strcmp(how, "unmarked")) START;
  together(add_left, add_right);
  if (!strcmp(how, "dies")) _exit(3);
  if (strcmp(how, "unmarked")) STOP;
  closes();
}
