typedef unsigned long size_t;
void *memset(void *, int, size_t); void *memcpy(void *, const void *, size_t); void free(void *);
void kmem_cache_free(void *, void *); unsigned long copy_to_user(void *, const void *, unsigned long);
#define offsetof(t, m) __builtin_offsetof(t, m)
#define container_of(p, t, m) ({ void *__p = (void *)(p); ((t *)(__p - offsetof(t, m))); })
#define BUILD_BUG_ON(c) do { __attribute__((error("x"))) extern void bad(void); if (!(!(c))) bad(); } while (0)
#define BUILD_BUG_ON_ZERO(e) ((int)(sizeof(struct { int:(-!!(e)); })))
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
struct node { struct node *next; };
struct rec { struct node n; int a; int b; long c; struct node m; char d[8]; int e; };
struct outer { int x; struct rec r; };
