/* Memory that is given back all at once: what one request or one spec needs. */
#ifndef REEVE_ARENA_H
#define REEVE_ARENA_H

#include <stddef.h>

typedef struct arena_block arena_block;

typedef struct {
    arena_block *newest;
} arena;

/* Zeroed memory, aligned for anything; NULL when there is none. */
void *arena_take(arena *from, size_t size);

/* A copy of the bytes with a NUL behind them. */
char *arena_text(arena *from, const char *bytes, size_t length);

void arena_free(arena *all);

#endif
