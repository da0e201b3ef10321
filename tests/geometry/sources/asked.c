
#define LINE __attribute__((aligned(64)))
struct lock { int word; } LINE;
struct word { int word LINE; };
struct subject {
    struct lock brought;
    int own LINE;
    struct { int first; struct { int deep LINE; }; };
    union { struct { int part; } LINE; };
    int pair __attribute__((aligned(16)));
} subject;
struct word word;
