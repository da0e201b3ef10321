
struct box { int width; int height; };
typedef struct box box_t;
struct holder { long a; struct box inner; struct box *other; };
struct outer { struct holder first; };
struct box *box_of(struct holder *h);
extern struct box the_box;
#define first_box(h) ((h)->other)
#define wide(b) ((b)->width)
#define BOX_INIT { 1, 2 }
#define MAKE_BOX(name) struct box name = BOX_INIT
