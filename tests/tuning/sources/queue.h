struct queue {
  long head;
  long tail;
  char name[112];
} __attribute__((aligned(64)));
