static inline void put(struct node *n, int v) { n->count = v; n->total += v; }
__attribute__((noinline)) int get(struct node *n) { return n->count; }
__attribute__((noinline)) void lock(struct lock *l) { __atomic_fetch_add(&l->word, 1, 5); }
__attribute__((noinline)) long walk(struct outer *o)
{
	long sum = o->key;
	for (struct node *n = o->node.next; n; n = n->next) {
		put(n, 3);
		sum += get(n);
	}
	lock(&o->node.guard);
	o->node.count = 0;
	return sum;
}
