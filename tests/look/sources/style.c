
struct pair { int first; long second[2]; } pair;
struct wide { char name[56]; long at[2]; int tail; } wide;
struct light { enum { RED, GREEN = 5 } colour; } light;
typedef struct { int counter; } count_t;
struct page { struct link { void *next; } lru; count_t uses; } page;
struct table { int (*calls[4])(long); } table;
