#ifndef REEVE_FUZZ_TARGET_H
#define REEVE_FUZZ_TARGET_H

#include <stddef.h>
#include <stdint.h>

/* The readers that accept an input. */
enum { READS_JSON = 1, READS_REQUEST = 2, READS_TASK = 4, READS_SESSION = 8 };
unsigned readers_accepting(const uint8_t *data, size_t size);

/* The interface of libFuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
