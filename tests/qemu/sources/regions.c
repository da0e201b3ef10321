
static struct { _Alignas(64) int it; } before, within, after;
#define WORKER(place)                                                    \
  static void *touch_##place(void *unused) {                             \
    pthread_barrier_wait(&both);                                         \
    for (int i = 0; i < ROUNDS; i++) ++*(volatile int *)&place.it;       \
    return unused;                                                       \
  }
WORKER(before)
WORKER(within)
WORKER(after)
int main(void) {
  together(touch_before, touch_before);
  START;
  together(touch_within, touch_within);
  STOP;
  together(touch_after, touch_after);
  START;
  together(touch_within, touch_within);
  STOP;
  printf("%p %p %p", (void *)&before, (void *)&within, (void *)&after);
}
