
static _Alignas(64) volatile int counter;
__attribute__((noinline)) void bump(void) { __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST); }
__attribute__((noinline)) void seldom(void) { bump(); __asm__ volatile(""); }
__attribute__((noinline)) void often(int depth) {
  if (depth) often(depth - 1); else bump();
  __asm__ volatile("");
}
__attribute__((noinline)) void by_pointer(void (*called)(int)) { called(2); __asm__ volatile(""); }
static void *work(void *unused) {
  pthread_barrier_wait(&both);
  for (int i = 0; i < ROUNDS; i++) if (i % 4) by_pointer(often); else seldom();
  return unused;
}
int main(void) {
  printf("%p %p %p %p", (void *)bump, (void *)seldom, (void *)often, (void *)by_pointer);
  fflush(stdout);
  START;
  together(work, work);
  STOP;
}
