/* gp-trace as a user runs it. */
#include "program.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[] = "/tmp/gp_test_gp_trace_XXXXXX";
static char input[64];
static char output[64];
static program_run run;

static void make_directory(void)
{
    cr_assert(ne(ptr, mkdtemp(directory), NULL));
    (void)snprintf(input, sizeof(input), "%s/input", directory);
    (void)snprintf(output, sizeof(output), "%s/output.csv.gz", directory);
}

static void remove_directory(void)
{
    (void)unlink(input);
    (void)unlink(output);
    (void)rmdir(directory);
}

TestSuite(gp_trace, .init = make_directory, .fini = remove_directory);

#define RUN(...) program_execute(&run, GP_TRACE_PROGRAM, __VA_ARGS__)

/* What Python writes to the input, with `file` open for it. */
static void write_by_python(const char *statements)
{
    char script[2048];
    program_run python;
    (void)snprintf(script, sizeof(script),
                   "-c 'import os, pickle\nfile = open(\"%s\", \"wb\")\n%s\n'", input, statements);
    program_execute(&python, "python3", "%s", script);
    cr_assert(eq(int, python.exit_code, 0), "%s", python.errors);
}

#define SNAPSHOT                                                                                   \
    "snapshot = {\"segments\": [], \"device_traces\": [[\n"                                        \
    "    {\"action\": \"alloc\", \"addr\": 4096, \"size\": 1000, \"stream\": 0, \"time_us\": "     \
    "5},\n"                                                                                        \
    "    {\"action\": \"alloc\", \"addr\": 8192, \"size\": 24, \"stream\": 94, \"time_us\": 6},\n" \
    "    {\"action\": \"free_requested\", \"addr\": 4096, \"size\": 1000, \"stream\": 0}]]}\n"

static void assert_refused(const char *reason)
{
    char expected[256];
    (void)snprintf(expected, sizeof(expected), "gp-trace: %s: %s\n", input, reason);
    RUN("import '%s' '%s'", input, output);
    cr_assert(eq(int, run.exit_code, 2));
    cr_assert(eq(str, run.errors, expected));
    cr_assert(eq(str, run.output, ""));
    cr_assert(ne(int, access(output, F_OK), 0), "a trace was written");
}

static void assert_says(const char *text)
{
    cr_assert(ne(ptr, strstr(run.output, text), NULL), "%s", run.output);
}

/* ---- import ---- */

Test(gp_trace, imports_pickles_of_every_protocol_since_2)
{
    for (int protocol = 2; protocol <= 5; protocol++) {
        char statements[1024];
        (void)snprintf(statements, sizeof(statements),
                       SNAPSHOT "pickle.dump(snapshot, file, protocol=%d)", protocol);
        write_by_python(statements);

        RUN("import '%s' '%s'", input, output);

        cr_assert(eq(int, run.exit_code, 0), "protocol %d: %s", protocol, run.errors);
        assert_says("events       3: 2 allocations, 1 frees, 1 live at the end");
        assert_says("streams      2");
    }
}

Test(gp_trace, imports_an_rmm_log_and_says_what_it_made_of_it)
{
    write_by_python("file.write(b\"Thread,Time,Action,Pointer,Size,Stream\\n"
                    "1,10:00:00,allocate,0x10,1048576,0\\n"
                    "2,10:00:02,free,0x20,64,0\\n"
                    "2,10:00:02,allocate failure,(nil),64,0\\n\")");

    RUN("import '%s' '%s'", input, output);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    assert_says("threads      2");
    assert_says("peak live    1.0 MiB");
    assert_says("live before  1 blocks");
    assert_says("left out     1 allocations that failed");
}

Test(gp_trace, looks_up_no_name_that_a_pickle_has)
{
    char canary[96];
    char statements[512];
    (void)snprintf(canary, sizeof(canary), "%s/canary", directory);
    (void)snprintf(statements, sizeof(statements),
                   "class Call:\n"
                   "    def __reduce__(self):\n"
                   "        return (os.mkdir, (\"%s\",))\n"
                   "pickle.dump({\"device_traces\": Call()}, file, protocol=4)",
                   canary);
    write_by_python(statements);

    assert_refused("byte 45: it names posix.mkdir; a snapshot holds plain values only");

    cr_assert(ne(int, access(canary, F_OK), 0), "the pickle ran a function");
}

Test(gp_trace, says_at_which_byte_a_pickle_was_cut)
{
    write_by_python(SNAPSHOT "file.write(pickle.dumps(snapshot, protocol=2)[:40])");

    assert_refused("byte 22: pickle data was truncated");
}

Test(gp_trace, survives_a_pickle_that_asks_for_all_memory)
{
    write_by_python("file.write(b\"\\x80\\x02}r\\xff\\xff\\xff\\x7f.\")");

    assert_refused("byte 8: it asks for more memory than a snapshot of its size needs");
}

Test(gp_trace, refuses_a_pickle_of_something_else)
{
    static const char *const values[] = {"5", "[]", "{}", "{\"device_traces\": [[5]]}",
                                         "{\"device_traces\": [], \"segments\": [{}]}"};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char statements[256];
        (void)snprintf(statements, sizeof(statements), "pickle.dump(%s, file)", values[i]);
        write_by_python(statements);
        assert_refused("it is no memory snapshot");
    }
}

/* Bytes are wrong at random, with a fixed seed: the program says so and ends with 2, or
 * takes what is left for a sound snapshot. */
Test(gp_trace, survives_damaged_pickles)
{
    for (unsigned int seed = 0; seed < 12; seed++) {
        char statements[1024];
        (void)snprintf(statements, sizeof(statements),
                       "import random\nrandom.seed(%u)\n" SNAPSHOT
                       "data = bytearray(pickle.dumps(snapshot, protocol=%u))\n"
                       "for i in range(3):\n"
                       "    data[random.randrange(2, len(data))] = random.randrange(256)\n"
                       "file.write(data)",
                       seed, 2 + seed % 3);
        write_by_python(statements);

        RUN("import '%s' '%s'", input, output);

        cr_assert(run.exit_code == 0 || run.exit_code == 2, "seed %u: %d", seed, run.exit_code);
        cr_assert(eq(int, run.exit_code == 2, run.errors[0] != '\0'), "seed %u", seed);
    }
}

Test(gp_trace, says_that_the_trace_cannot_be_written)
{
    write_by_python(SNAPSHOT "pickle.dump(snapshot, file)");

    RUN("import '%s' /nonexistent/out.csv", input);

    cr_assert(eq(int, run.exit_code, 1));
    cr_assert(eq(str, run.errors, "gp-trace: /nonexistent/out.csv: No such file or directory\n"));
}

/* ---- info ---- */

Test(gp_trace, says_what_is_in_a_trace)
{
    RUN("info '%s'", GP_BENCH_TRACE);

    cr_assert(eq(int, run.exit_code, 0), "%s", run.errors);
    assert_says("events       42639: 21427 allocations, 21212 frees, 215 live at the end");
    assert_says("streams      1");
    assert_says("peak live    2644.2 MiB");
}

/* ---- wrong input ---- */

Test(gp_trace, names_the_line_of_a_wrong_file)
{
    write_by_python("file.write(b\"t_us,op,id,size,stream\\n0,x,1,512,0\\n\")");

    RUN("info '%s'", input);

    cr_assert(eq(int, run.exit_code, 2));
    cr_assert(ne(ptr, strstr(run.errors, "/input:2: op \"x\""), NULL), "%s", run.errors);
}

Test(gp_trace, refuses_wrong_arguments)
{
    static const char *const wrong[] = {
        "",
        "export",
        "import",
        "import a",
        "import a b c",
        "import --from xml a b",
        "import --device one a b",
        "import --device 1024 a b",
        "import /nonexistent b",
        "info",
        "info /nonexistent",
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        RUN("%s", wrong[i]);
        cr_assert(eq(int, run.exit_code, 2), "gp-trace %s", wrong[i]);
        cr_assert(ne(str, run.errors, ""), "gp-trace %s", wrong[i]);
        cr_assert(eq(str, run.output, ""), "gp-trace %s", wrong[i]);
    }
}

Test(gp_trace, explains_its_commands)
{
    RUN("--help");
    cr_assert(eq(int, run.exit_code, 0));
    assert_says("import");
    RUN("import --help");
    cr_assert(eq(int, run.exit_code, 0));
    assert_says("--from");
    RUN("info --help");
    cr_assert(eq(int, run.exit_code, 0));
    RUN("--version");
    cr_assert(eq(int, run.exit_code, 0));
}
