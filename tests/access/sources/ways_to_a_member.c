
int member(struct node *n) { return n->count; } // read node.count
void store(struct node *n) { n->count = 3; } // write node.count
void update(struct node *n) { n->total += 3; } // read-write node.total
void atomic_update(struct node *n) { __atomic_fetch_add(&n->total, 3, 5); } // atomic node.total
int exchange(struct lock *l) { return __atomic_exchange_n(&l->word, 1, 5); } // atomic lock.word
int pointers_to_pointers(struct node *n) { return n->next->next->count; } // read node.count, read node.next
long list(struct node *n) { long s = 0; for (; n; n = n->next) s += n->total; return s; }
    // read node.next, read node.total
int embedded_member(struct outer *o) { return o->node.count; } // read outer.node.count
long record_around_a_member(struct node *n) { struct outer *o = (void *)((char *)n - 8); return o->key; }
    // read outer.key
int embedded_record(struct outer *o) { struct node *n = &o->node; return n->count + n->guard.word; }
    // read outer.node.count, read outer.node.guard
int element_of_an_array(struct outer *o) { return o->many[2].count; } // read outer.many[2].count
int array_of_pointers(struct node **all, long i) { return all[i]->count; } // read node *, read node.count
__attribute__((noinline)) struct node *find(struct node **all) { return all[3]->next; }
int result(struct node **all) { return find(all)->count; } // read node.count
void g(void);
int callee_saved_register(struct node *n) { g(); return n->count; } // read node.count
struct node first;
void global_record(void) { first.count = 1; } // write node.count
static struct node *head; void set(struct node *n) { head = n; }
int global_pointer(void) { return head->count; } // read node *, read node.count
unsigned bit_field(struct outer *o) { return o->high; } // read outer.low
int one_of_two(struct node *a, struct node *b, int c) { struct node *n = c ? a : b->next; return n->count; }
    // read node.count, read node.next
int no_type_at_all(void *p) { return *(int *)((char *)p + 8); } // read untyped pointer
__attribute__((cold)) void cold(long);
int code_that_lies_apart(struct node *n) { if (__builtin_expect(n->count, 0)) cold(n->total); return n->guard.word; }
    // read node.count, read node.guard, read node.total
static inline void deep(struct node *n) { n->count = 1; }
static inline void around(struct outer *o) { deep(&o->node); o->key = 2; }
void inlined(struct outer *o) { around(o); } // write outer.key, write outer.node.count
static struct node named; int *held = &named.count;
void global_by_name(void) { named.count++; } // read-write node.count
