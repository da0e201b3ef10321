/* The search reads offset 0x18 of a span as well, so its operands alone leave two starts for the book. */
#include <pthread.h>

struct link { struct link *next, *right, *left; };
struct span { struct link link; unsigned long start; };
struct book { struct link *root; pthread_rwlock_t lock; };

struct span *book_search(struct book *book, unsigned long key)
{
	struct link *at;

	pthread_rwlock_rdlock(&book->lock);
	for (at = book->root; at && ((struct span *)at)->start != key; at = at->left)
		;
	pthread_rwlock_unlock(&book->lock);
	return (struct span *)at;
}
