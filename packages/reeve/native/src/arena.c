#include "arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE 16384
#define ALIGNMENT alignof(max_align_t)

struct arena_block {
    arena_block *older;
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

static arena_block *add_block(arena *to, size_t size) {
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    arena_block *block = calloc(1, sizeof *block + room);
    if (block == NULL) return NULL;
    block->size = room;
    block->older = to->newest;
    to->newest = block;
    return block;
}

void *arena_take(arena *from, size_t size) {
    if (size > (size_t)1 << 30) return NULL;
    size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    arena_block *block = from->newest;
    if (block == NULL || block->size - block->used < rounded) block = add_block(from, rounded);
    if (block == NULL) return NULL;
    void *result = block->bytes + block->used;
    block->used += rounded;
    return result;
}

char *arena_text(arena *from, const char *bytes, size_t length) {
    char *copy = arena_take(from, length + 1);
    if (copy == NULL) return NULL;
    memcpy(copy, bytes, length);
    return copy;
}

void arena_free(arena *all) {
    arena_block *block = all->newest;
    while (block != NULL) {
        arena_block *older = block->older;
        free(block);
        block = older;
    }
    all->newest = NULL;
}
