typedef struct { int counter; } count_t;
struct rec { int a; union { long u; struct { short s, t; }; }; int arr[4]; struct rec *next; count_t c; };
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
void g(int *);
