
static _Alignas(64) long counter;
static void *add(void *unused) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < ROUNDS; i++) __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
  return unused;
}
int main(void) {
  START;
  together(add, add);
  STOP;
  printf("%p", (void *)&counter);
}
