
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#define PACKED __attribute__((packed))
struct either { char head[40]; long far ALIGNED(64); };
struct least { char head[40]; char far ALIGNED(32); char rest[31]; } ALIGNED(32);
struct even { char only; } ALIGNED(2);
struct bits { unsigned low : 5, high : 12; char next; };
struct beyond { unsigned low : 5, high : 30; };
struct torn { unsigned low : 5, high : 30; } PACKED;
struct late { char tag; int value; char rest[3]; } PACKED;
struct wire { char tag; long value; } PACKED;
struct odd { int value; char tag; } PACKED;
struct nothing { };
struct bytes { char first, second; };
struct holder { char tag; struct bytes bytes; struct wire table[4]; int counts[2][3]; int open[]; };
struct holder_at_odds { int tag; struct wire table[4]; int last; } PACKED;
struct either either; struct least least; struct even even; struct bits bits; struct beyond beyond; struct torn torn;
struct late late; struct odd odd; struct nothing nothing; struct holder holder; struct holder_at_odds at_odds;
