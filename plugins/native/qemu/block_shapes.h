// SPDX-License-Identifier: GPL-2.0-or-later
// A block of code in the one word that QEMU hands to a callback: where it begins, and the number of its
// shape.
#ifndef LINESMITH_BLOCK_SHAPES_H
#define LINESMITH_BLOCK_SHAPES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/** What the last instruction of a block does to the calls under way. */
enum block_ending { BLOCK_GOES_ON, BLOCK_CALLS, BLOCK_RETURNS, BLOCK_JUMPS };

/** A place in code: 48 bits of its address behind the bit of its half, which have all that matters. */
typedef uint64_t code_place;

static inline code_place code_place_of(uint64_t address) {
  return (address << 1 | address >> 63) << 15 >> 15;
}

static inline code_place code_place_after(code_place place, uint64_t bytes) { return place + 2 * bytes; }

static inline uint64_t code_place_address(code_place place) {
  return place >> 1 | (place & 1 ? UINT64_C(0xffff) << 48 : 0);
}

/** Blocks differ in little else: a kernel has some 2,000 shapes. */
struct block_shape {
  uint16_t bytes;
  uint16_t instructions;
  uint8_t ending;  // enum block_ending
};

enum { BLOCK_SHAPE_BITS = 15, BLOCK_SHAPES = 1 << BLOCK_SHAPE_BITS, BLOCK_INSTRUCTIONS = 1 << 10 };

struct block_shapes {
  pthread_mutex_t lock;  // translation may run on several threads
  uint32_t count;
  struct block_shape shapes[BLOCK_SHAPES];
  uint16_t slots[2 * BLOCK_SHAPES];  // number of a shape by hash; 0: free
};

/** Begins with the shapes of blocks of which only the number of instructions is known. */
void block_shapes_open(struct block_shapes *shapes);

/** The number of a shape; one that finds the table full counts as a block that goes on. */
uint32_t block_shapes_number(struct block_shapes *shapes, struct block_shape shape);

static inline uint64_t code_block(uint64_t address, uint32_t shape) {
  return code_place_of(address) << BLOCK_SHAPE_BITS | shape;
}

static inline code_place code_block_place(uint64_t block) { return block >> BLOCK_SHAPE_BITS; }

static inline const struct block_shape *block_shapes_of(const struct block_shapes *shapes, uint64_t block) {
  return &shapes->shapes[block & (BLOCK_SHAPES - 1)];
}

#endif
