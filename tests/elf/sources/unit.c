/* SPDX-License-Identifier: GPL-2.0-or-later */
struct leaf { int low; struct leaf *next; };
union word { long whole; struct { char bytes[8]; }; };
typedef struct { struct leaf leaf; } alias;
struct outer { int a : 3, b : 9; struct leaf table[2][3]; union word word; alias *held; int (*call)(int);
  char tail[]; };
enum kind { ONE, TWO };
struct outer *outer; enum kind kind; static struct leaf leaf;
static inline int low(struct leaf *one) { return one->next->low++; }
int walk(struct outer *one, int many) {
  int sum = leaf.low;
  for (int i = 0; i < many; i++) sum += low(&one->table[i & 1][i % 3]) + one->call(one->b);
  switch (sum & 7) { case 0: one->a = 1; break; case 1: outer = one; break; case 2: kind = TWO; break;
    case 3: leaf.next = &one->table[0][0]; break; case 4: one->word.bytes[3] = 1; break; default: one->tail[sum]++; }
  return sum;
}
