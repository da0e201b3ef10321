/* Members that meet or do not, by the macro with which it is built; each thread counts in a loop. */
#include <pthread.h>
#ifndef TIMES
#define TIMES 20000
#endif
struct session {
    long id, flags;
    char name[32];
#ifdef CONFIG
    long config;
#endif
    long limit;
    volatile long count, owner;
    long rest[6];
};
struct counters {
    volatile long received;
#ifdef NEAR
    char apart[56];
#else
    char apart[120];
#endif
    volatile long sent;
} __attribute__((aligned(128)));
struct session session __attribute__((aligned(64)));
struct counters counters;
#ifdef MOVED
volatile long first = 1, second = 1;
long between[16] = {1};
#else
volatile long first = 1;
long between[16] = {1};
volatile long second = 1;
#endif
/* Who sleeps in a barrier begins when the host wakes it, perhaps after another has ended. */
static int arrived __attribute__((aligned(64)));
static void meet(void) {
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) < 3) {}
}
static void *a(void *x) {
    meet();
    for (int i = 0; i < TIMES; i++) { session.count++; counters.received++; first++; }
    return x;
}
static void *b(void *x) {
    meet();
    for (int i = 0; i < TIMES; i++) { session.owner++; counters.sent++; second++; }
    return x;
}
static void *c(void *x) {
    meet();
    for (int i = 0; i < TIMES; i++) counters.received++;
    return x;
}
int main(void) {
    void *(*run[])(void *) = {a, b, c};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, run[i], 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
