struct pipe {
  long head;
  long tail;
  char __cacheline_group_begin__rx[0];
  union {
    long first;
    int second;
  };
  int flag : 3, other : 5;
  char __cacheline_group_end__rx[0];
  char name[28];
} pipe;
