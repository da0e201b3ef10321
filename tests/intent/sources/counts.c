struct counts { long in; long out; };
struct pipe {
  long head; long tail;
  int flags;
  void *owner;
  struct counts counts[2];
  char name[48];
} pipe;
