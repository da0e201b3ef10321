#include <stdint.h>

typedef struct { int32_t word, waiters; } latch_t;

struct ring {
	uint64_t *slots, mask;	/* read by both sides */
	uint64_t head, head_limit;	/* the writer's */
	uint64_t tail;			/* the reader's */
	uint64_t tail_limit;
	unsigned int open : 1, broken : 1;
	latch_t latch;
	union {
		void *owner;
		uint64_t token;
	};
	const char *name;
	uint64_t sizes[4];
};
struct ring ring;
int main(void) { return (int)ring.mask; }
