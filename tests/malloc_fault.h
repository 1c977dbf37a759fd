/*
 * Host memory that runs out when a test wants it to.
 *
 * Link with -Wl,--wrap=malloc,--wrap=calloc,--wrap=aligned_alloc: calls from gp and from
 * the test itself then come through here, those of other libraries do not.
 */
#ifndef GP_TESTS_MALLOC_FAULT_H
#define GP_TESTS_MALLOC_FAULT_H

#include <stddef.h>

/* Let so many calls succeed and fail every one after them. */
void malloc_fault_after(size_t calls);

/* Let so many calls succeed and fail the next one only. */
void malloc_fault_once_after(size_t calls);

/* No more failures. */
void malloc_fault_off(void);

/* Calls so far, failed ones too. */
size_t malloc_fault_calls(void);

#endif
