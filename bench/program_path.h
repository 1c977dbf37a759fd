/* Where the program itself lies: what belongs to it lies beside. */
#ifndef GP_BENCH_PROGRAM_PATH_H
#define GP_BENCH_PROGRAM_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The path of a file in the program's folder, there or not. False: it does not fit. */
bool bench_path_beside_program(char *path, size_t capacity, const char *file);

#endif
