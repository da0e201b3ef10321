
struct pair { int first, second; };
struct subject {
    char head;
    struct { long low; union { int word; struct pair parts; }; };
    struct pair table[3][4];
    unsigned one : 3, two : 9;
    struct { int inner; } own;
} subject;
