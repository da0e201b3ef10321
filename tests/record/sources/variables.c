
#include <pthread.h>
#define LINE _Alignas(64)
struct slot { long hits, misses; };
struct tail { long first, more[]; };
LINE static struct { int x, y; } unnamed;
LINE static long filestatic[2];
LINE struct slot slots[2];
LINE static struct tail tailed = {1, {2, 3, 4}};
LINE static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct slot own;
LINE static struct slot *volatile lent[4];
static long *inside(void) { LINE static long in_function[2]; return in_function; }
static void *work(void *number) {
    long n = (long)number, half = n & 1;
    lent[n] = &own;
    for (int i = 0; i < 2000; i++) {
        __atomic_fetch_add(half ? &unnamed.x : &unnamed.y, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&filestatic[half], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(half ? &slots[1].hits : &slots[0].misses, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&inside()[half], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&tailed.more[half], 1, __ATOMIC_RELAXED);
        own.hits++;
        if (lent[n ^ 1]) __atomic_fetch_add(&lent[n ^ 1]->misses, 1, __ATOMIC_RELAXED);
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    return 0;
}
