#include "malloc_fault.h"

#include <stdint.h>

/* Names that the linker gives to the real functions and to those in their place. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static size_t calls_seen;
static size_t calls_left = SIZE_MAX;
static int fails_once;

void malloc_fault_after(size_t calls)
{
    calls_left = calls;
    fails_once = 0;
}

void malloc_fault_once_after(size_t calls)
{
    calls_left = calls;
    fails_once = 1;
}

void malloc_fault_off(void)
{
    calls_left = SIZE_MAX;
}

size_t malloc_fault_calls(void)
{
    return calls_seen;
}

static int succeeds(void)
{
    calls_seen++;
    if (calls_left == SIZE_MAX) {
        return 1;
    }
    if (calls_left == 0) {
        calls_left = fails_once ? SIZE_MAX : 0;
        return 0;
    }
    calls_left--;
    return 1;
}

void *__wrap_malloc(size_t bytes)
{
    return succeeds() ? __real_malloc(bytes) : NULL;
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return succeeds() ? __real_calloc(count, bytes) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return succeeds() ? __real_aligned_alloc(alignment, bytes) : NULL;
}
