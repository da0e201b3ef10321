
struct spin_lock { int owner; };
struct queue {
    void *items;
    unsigned long capacity;
    int version;
    unsigned char open, closing;
    struct spin_lock lock;
    unsigned long head;
    unsigned long tail;
    char name[40];
    unsigned short users;
};
struct untouched { long word; };
struct untouched untouched;
unsigned long queue_head(struct queue *queue) { return queue->head; }
void queue_put(struct queue *queue) { queue->tail++; }
void queue_lock_slowpath(struct queue *queue) { queue->lock.owner = 1; }
int queue_grow(struct queue *queue) { return queue->capacity != 0; }
struct idle { long word; } idle;
