// SPDX-License-Identifier: GPL-2.0-or-later
#include "block_shapes.h"

#include <string.h>

void block_shapes_open(struct block_shapes *shapes) {
  memset(shapes, 0, sizeof *shapes);
  pthread_mutex_init(&shapes->lock, NULL);
  for (; shapes->count < BLOCK_INSTRUCTIONS; shapes->count++)
    shapes->shapes[shapes->count].instructions = (uint16_t)shapes->count;
}

static bool same_shape(const struct block_shape *one, const struct block_shape *other) {
  return one->bytes == other->bytes && one->instructions == other->instructions &&
         one->ending == other->ending;
}

static uint32_t find_or_add(struct block_shapes *shapes, const struct block_shape *shape) {
  uint64_t key = (uint64_t)shape->bytes << 32 | (uint64_t)shape->instructions << 8 | shape->ending;
  uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 40);
  for (slot %= 2 * BLOCK_SHAPES; shapes->slots[slot]; slot = (slot + 1) % (2 * BLOCK_SHAPES))
    if (same_shape(&shapes->shapes[shapes->slots[slot]], shape)) return shapes->slots[slot];
  if (shapes->count == BLOCK_SHAPES) return shape->instructions;
  shapes->shapes[shapes->count] = *shape;
  shapes->slots[slot] = (uint16_t)shapes->count;
  return shapes->count++;
}

uint32_t block_shapes_number(struct block_shapes *shapes, struct block_shape shape) {
  if (shape.instructions >= BLOCK_INSTRUCTIONS) shape.instructions = BLOCK_INSTRUCTIONS - 1;
  if (shape.ending == BLOCK_GOES_ON) return shape.instructions;
  pthread_mutex_lock(&shapes->lock);
  uint32_t number = find_or_add(shapes, &shape);
  pthread_mutex_unlock(&shapes->lock);
  return number;
}
