/* What a fuzzer made, as a file for readers that want one. */
#ifndef GP_TESTS_FUZZ_FILE_H
#define GP_TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The path of a file in memory with these bytes, till the next call. Ends the process on failure.
 */
const char *fuzz_file(const uint8_t *data, size_t bytes);

#endif
