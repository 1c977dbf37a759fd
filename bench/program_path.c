#include "program_path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool bench_path_beside_program(char *path, size_t capacity, const char *file)
{
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    int written = snprintf(path, capacity, "%s/%s", program, file);
    return written > 0 && (size_t)written < capacity;
}
