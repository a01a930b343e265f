/*
 * In the place of src/arena.c: each piece is an allocation of its own and of exactly its size, so
 * that the sanitizers see a step from one piece into the next.
 */
#include "../src/arena.h"

#include <stdlib.h>
#include <string.h>

struct arena_block {
    arena_block *older;
    void *bytes;
};

void *arena_take(arena *from, size_t size) {
    if (size > (size_t)1 << 30) return NULL;
    arena_block *block = malloc(sizeof *block);
    void *bytes = calloc(1, size == 0 ? 1 : size);
    if (block == NULL || bytes == NULL) abort();
    *block = (arena_block){.older = from->newest, .bytes = bytes};
    from->newest = block;
    return bytes;
}

char *arena_text(arena *from, const char *bytes, size_t length) {
    char *copy = arena_take(from, length + 1);
    memcpy(copy, bytes, length);
    return copy;
}

void arena_free(arena *all) {
    while (all->newest != NULL) {
        arena_block *block = all->newest;
        all->newest = block->older;
        free(block->bytes);
        free(block);
    }
}
