
#include <pthread.h>
#include <stdatomic.h>
struct counters { atomic_long left, right; };
_Alignas(64) struct counters counters;
static atomic_int arrived;
static void meet(void) { arrived++; while (arrived < 2); }
void unused(void) {}
void *add_left(void *unused) { meet(); for (int i = 0; i < 1000000; i++) counters.left++; return unused; }
void *add_right(void *unused) { meet(); for (int i = 0; i < 1000000; i++) counters.right++; return unused; }
int main(int argc, char **argv) {
    pthread_t thread;
    pthread_create(&thread, 0, add_left, 0);
    add_right(0);
    pthread_join(thread, 0);
    return argc > 1 ? argv[1][0] - '0' : 0;
}
