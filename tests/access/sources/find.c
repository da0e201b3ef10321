struct link { struct link *next; long key; };
struct table { int size; struct link *heads[16]; struct { short low, high; } bounds; };

long find(struct table *table, long key)
{
    struct link *link = table->heads[key & 15];

    while (link && link->key != key)
        link = link->next;
    if (link && table->bounds.high > key)
        table->size++;
    return link ? link->key : table->bounds.low;
}
