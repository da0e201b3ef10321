struct tree { long root; }; struct owner { struct tree tree; int n; }; struct local { int a; };
typedef struct { int c; } counter;
static inline __attribute__((always_inline)) long peek(const struct tree *tree)
{
    __asm__ volatile("" : : "r"(tree) : "memory");
    return tree->root;
}
long walk(struct owner *owner, struct owner **all, counter *count)
{
    struct local value = { owner->n };
    if (count->c) { struct tree *inner = &owner->tree; return inner->root + value.a; }
    return all[0]->n;
}
long glance(struct owner *owner) { return peek(&owner->tree) + owner->n; }
struct owner *other(int n) { return 0; }
