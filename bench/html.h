/* Pieces of a report as one page that needs nothing from outside. */
#ifndef GP_BENCH_HTML_H
#define GP_BENCH_HTML_H

#include "chart.h"
#include "lineup.h"

#include <stdbool.h>
#include <stdio.h>

void bench_html_begin(FILE *out, const char *title);
void bench_html_end(FILE *out);

/* Text, with what means something in HTML taken out of it. */
void bench_html_text(FILE *out, const char *text);

/* <tag>text</tag> */
void bench_html_element(FILE *out, const char *tag, const char *text);

/* A cell of a table with a number; `best` makes it stand out. */
void bench_html_number(FILE *out, double value, int decimals, bool best);

/* A chart, or a line that says why there is none. */
void bench_html_chart(FILE *out, const bench_chart *chart);

/* What was left out of a run, and why. Nothing if nothing was. */
void bench_html_absent(FILE *out, const bench_lineup *lineup);

#endif
