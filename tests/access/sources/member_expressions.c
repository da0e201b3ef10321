struct inner { int a; union { long u; struct { short s, t; }; }; struct { int q; } named[4]; };
struct outer { struct inner *p; struct inner v; int arr[8]; unsigned bit : 3; struct outer *next; };
typedef struct { int counter; } count_t;
#include "header.h"
#define GET(x) ((x)->v.a) // update outer.v inner.a
#define BOTH(x, y) ((x) + (y))
void f(struct outer *o, int *ip, count_t *c, long i) {
  static struct outer g; static int n;
  /* Each record on the way is named; members of anonymous ones count for the record around. */
  o->v.a = o->next->p->a; // read inner.a, read outer.next, read outer.p, write outer.v inner.a
  o->v.t = o->v.u; // read outer.v inner.u, write outer.v inner.t
  /* A record without a name in a named member is a step of its own, or goes by its typedef. */
  o->v.named[i].q++; // update outer.v inner.named .q
  c->counter += 1; // update count_t.counter
  /* Elements of member arrays are the member, an index is an expression of its own. */
  o->arr[i] = *(o->arr + 3); // read outer.arr, write outer.arr
  ip[o->bit] = 0; // read outer.bit, write *(int)
  /* A cast of an address leads to the same place; without a member it is the type that counts. */
  *(volatile int *)&o->v.a = 1; // write outer.v inner.a
  *ip = ip[2]; // read *(int), write *(int)
  /* Macros count where they are used and where they are written, their arguments likewise. */
  GET(o)++; // update outer.v inner.a
  (void)BOTH(1, // read outer.v inner.a
    o->v.a); // read outer.v inner.a
  get(c); //
  /* Assigning, setting and copying records; a cast to void hides none. */
  *o->p = o->v; // read outer.p, read outer.v whole, write *(struct inner) whole
  *o->p = (struct inner){ // read outer.p, write *(struct inner) whole
    .a = 3, // write inner.a
  };
  __builtin_memset(&o->v, 0, sizeof(o->v)); // address outer.v, update outer.v whole
  __builtin_memcpy((void *)c, ip, 4); // update *(count_t) whole, update *(int) whole
  /* Addresses, offsets and types are no accesses. */
  ip = &o->v.a; // address outer.v inner.a
  i = __builtin_offsetof(struct outer, v.u); // offset outer.v inner.u
  i = sizeof(o->v.a); __typeof__(o->v.u) k; //
  /* Statement expressions, assembly, static variables, choices; GIVEN is an argument of the compiler. */
  i = ({ int k = o->v.a; k; }); // read outer.v inner.a
  __asm__("" : "+m"(c->counter), "=m"(o->arr) : "m"(o->next)); // read outer.next, update count_t.counter, write outer.arr whole
  n = g.bit; // read [g] outer.bit, write [n] *(int)
  i = __builtin_choose_expr(1, o->bit, o->v.a); // read outer.bit
  i = o->bit ? o->v.a : c->counter; // read count_t.counter, read outer.bit, read outer.v inner.a
  i = o->GIVEN; // read outer.bit
}
