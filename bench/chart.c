#include "chart.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Legible on white and on black alike, and told apart by most colour-blind eyes. */
static const char *const colours[] = {
    "#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1",
    "#76b7b2", "#d4a017", "#9c755f", "#ff7f9f", "#7f7f7f",
};

#define COLOUR_COUNT (sizeof(colours) / sizeof(colours[0]))

/* ---- the script ---- */

/* In gnuplot's double quotes. */
static void write_quoted(FILE *script, const char *text)
{
    (void)fputc('"', script);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            (void)fputc('\\', script);
        (void)fputc(*text == '\n' ? ' ' : *text, script);
    }
    (void)fputc('"', script);
}

static void write_text(FILE *script, const char *what, const char *text)
{
    if (text == NULL)
        return;
    (void)fprintf(script, "set %s ", what);
    write_quoted(script, text);
    (void)fputs(" noenhanced\n", script);
}

static void write_head(FILE *script, const bench_chart *chart)
{
    (void)fputs("set terminal svg size 760,340 dynamic font \"sans-serif,12\"\n"
                "set border 3\nset tics nomirror\nset grid\n"
                "set key outside right noenhanced\n",
                script);
    write_text(script, "title", chart->title);
    write_text(script, "xlabel", chart->x_label);
    write_text(script, "ylabel", chart->y_label);
    if (chart->log_x)
        (void)fputs("set logscale x\n", script);
    (void)fputs(chart->log_y ? "set logscale y\n" : "set yrange [0:]\n", script);
    if (chart->x_tics != NULL)
        (void)fprintf(script, "set xtics %s\n", chart->x_tics);
}

static void write_data(FILE *script, const bench_chart *chart)
{
    for (size_t i = 0; i < chart->curve_count; i++) {
        const bench_curve *curve = &chart->curves[i];
        (void)fprintf(script, "$curve%zu << END\n", i);
        for (size_t j = 0; j < curve->count; j++)
            (void)fprintf(script, "%.9g %.9g\n", curve->x[j], curve->y[j]);
        (void)fputs("END\n", script);
    }
}

static void write_plot(FILE *script, const bench_chart *chart)
{
    size_t colour = 0;
    for (size_t i = 0; i < chart->curve_count; i++) {
        const bench_curve *curve = &chart->curves[i];
        (void)fprintf(script, "%s $curve%zu using 1:2 with %s ", i == 0 ? "plot" : ", \\\n", i,
                      curve->has_points ? "linespoints pt 7 ps 0.4" : "lines");
        if (curve->is_reference)
            (void)fputs("lc rgb \"#808080\" dt 2", script);
        else
            (void)fprintf(script, "lc rgb \"%s\"", colours[colour++ % COLOUR_COUNT]);
        (void)fputs(" lw 2 title ", script);
        write_quoted(script, curve->name);
    }
    (void)fputs("\n", script);
}

/* ---- gnuplot ---- */

static bool run_gnuplot(FILE *script, FILE *picture)
{
    char program[] = "gnuplot";
    char *const arguments[] = {program, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int status = -1;
    if (fflush(script) != 0 || fseek(script, 0, SEEK_SET) != 0 ||
        posix_spawn_file_actions_init(&actions) != 0)
        return false;
    bool sound =
        posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO) == 0 &&
        /* What it has to say is not for a user: the report says that a chart is missing. */
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
        posix_spawnp(&child, program, &actions, NULL, arguments, environ) == 0 &&
        waitpid(child, &status, 0) == child;
    (void)posix_spawn_file_actions_destroy(&actions);
    return sound && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* From <svg on: what stands before belongs to a file of its own. */
static bool copy_picture(FILE *picture, FILE *out)
{
    bool started = false;
    char line[4096];
    if (fseek(picture, 0, SEEK_SET) != 0)
        return false;
    while (fgets(line, sizeof(line), picture) != NULL) {
        started = started || strstr(line, "<svg") != NULL;
        if (started)
            (void)fputs(line, out);
    }
    return started;
}

bool bench_chart_write(const bench_chart *chart, FILE *out)
{
    FILE *script = tmpfile();
    FILE *picture = tmpfile();
    bool sound = script != NULL && picture != NULL && chart->curve_count > 0;
    if (sound) {
        write_head(script, chart);
        write_data(script, chart);
        write_plot(script, chart);
        sound = run_gnuplot(script, picture) && copy_picture(picture, out);
    }
    if (script != NULL)
        (void)fclose(script);
    if (picture != NULL)
        (void)fclose(picture);
    return sound;
}
