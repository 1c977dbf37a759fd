#include "snapshot_file.h"

#include "program_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRIPT "snapshot_json.py"

/* What a pickle begins with since protocol 2; no text does. */
#define PICKLE_MARK 0x80

extern char **environ;

static json_t *fail(char *error, const char *path, const char *reason)
{
    (void)snprintf(error, BENCH_TEXT_ERROR_CHARS, "%s: %s", path, reason);
    return NULL;
}

/* ---- JSON ---- */

static size_t read_some(void *buffer, size_t bytes, void *data)
{
    int count = gzread((gzFile)data, buffer, (unsigned int)bytes);
    return count >= 0 ? (size_t)count : SIZE_MAX; /* as json_load_callback() wants it */
}

/* Takes the descriptor, whatever comes of it. */
static json_t *load_json(int descriptor, const char *path, char *error)
{
    gzFile file = gzdopen(descriptor, "rb");
    if (file == NULL) {
        (void)close(descriptor);
        return fail(error, path, "out of memory");
    }
    json_error_t where;
    json_t *root = json_load_callback(read_some, file, 0, &where);
    int code = Z_OK;
    (void)gzerror(file, &code);
    if (root == NULL && code != Z_OK && code != Z_STREAM_END)
        (void)fail(error, path, "the compressed data is damaged or ends too early");
    else if (root == NULL)
        (void)snprintf(error, BENCH_TEXT_ERROR_CHARS, "%s:%d: byte %d: %s", path, where.line,
                       where.position, where.text);
    (void)gzclose_r(file);
    return root;
}

/* ---- pickles ---- */

/* Start python3 on the script, its output in a pipe and its complaints in another. */
static int start_script(const char *script, const char *path, int output, int errors, pid_t *child)
{
    char *const arguments[] = {(char[]){"python3"}, (char[]){"-I"}, (char *)script, (char *)path,
                               NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);
    if (code != 0)
        return code;
    code = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (code == 0)
        code = posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
    if (code == 0)
        code = posix_spawnp(child, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Its last line of complaint, as the reason; the script says one line. */
static void read_complaint(int errors, const char *path, char *error)
{
    char text[BENCH_TEXT_ERROR_CHARS - PATH_MAX];
    ssize_t count = read(errors, text, sizeof(text) - 1);
    text[count > 0 ? count : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    (void)fail(error, path, count > 0 ? text : "python3 ended without a word");
}

/* The child ends by itself once its output is read or closed. */
static json_t *take_output(pid_t child, int output, int errors, const char *path, char *error)
{
    int status = 0;
    json_t *root = load_json(output, path, error);
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return root;
    json_decref(root);
    read_complaint(errors, path, error);
    return NULL;
}

static json_t *load_pickle(const char *path, char *error)
{
    char script[PATH_MAX];
    int output[2];
    int errors[2];
    pid_t child = 0;
    if (!bench_path_beside_program(script, sizeof(script), SCRIPT) || access(script, R_OK) != 0)
        return fail(error, path, "a pickle, which needs " SCRIPT " beside this program");
    if (pipe2(output, O_CLOEXEC) != 0)
        return fail(error, path, strerror(errno));
    if (pipe2(errors, O_CLOEXEC) != 0) {
        (void)close(output[0]);
        (void)close(output[1]);
        return fail(error, path, strerror(errno));
    }
    int code = start_script(script, path, output[1], errors[1], &child);
    (void)close(output[1]);
    (void)close(errors[1]);
    json_t *root = NULL;
    if (code == 0) {
        root = take_output(child, output[0], errors[0], path, error);
    } else {
        (void)close(output[0]);
        (void)snprintf(error, BENCH_TEXT_ERROR_CHARS, "%s: a pickle, which needs python3: %s", path,
                       strerror(code));
    }
    (void)close(errors[0]);
    return root;
}

json_t *bench_snapshot_load(const char *path, char error[BENCH_TEXT_ERROR_CHARS])
{
    unsigned char first = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return fail(error, path, strerror(errno));
    if (read(file, &first, 1) < 0 || lseek(file, 0, SEEK_SET) != 0) {
        int code = errno;
        (void)close(file);
        return fail(error, path, strerror(code));
    }
    if (first != PICKLE_MARK)
        return load_json(file, path, error);
    (void)close(file);
    return load_pickle(path, error);
}
