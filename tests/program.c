#include "program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_all(FILE *file, char *text, size_t capacity)
{
    size_t count = fread(text, 1, capacity - 1, file);
    text[count] = '\0';
}

static void read_file(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return;
    read_all(file, text, capacity);
    (void)fclose(file);
}

static void execute(program_run *run, const char *command)
{
    FILE *pipe = popen(command, "r");
    if (pipe == NULL)
        return;
    read_all(pipe, run->output, sizeof(run->output));
    int status = pclose(pipe);
    run->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void program_execute(program_run *run, const char *program, const char *arguments, ...)
{
    char error_path[] = "/tmp/gp_test_stderr_XXXXXX";
    char list[1024];
    char command[2048];
    va_list values;
    va_start(values, arguments);
    (void)vsnprintf(list, sizeof(list), arguments, values);
    va_end(values);

    *run = (program_run){.exit_code = -1};
    int file = mkstemp(error_path);
    if (file < 0)
        return;
    (void)close(file);
    (void)snprintf(command, sizeof(command), "'%s' %s 2>'%s'", program, list, error_path);
    execute(run, command);
    read_file(error_path, run->errors, sizeof(run->errors));
    (void)unlink(error_path);
}
