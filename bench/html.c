#include "html.h"

static const char style[] =
    ":root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--line:#d0d7de;--soft:#59636e;"
    "--mark:#dafbe1}\n"
    "@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#3d444d;"
    "--soft:#9198a1;--mark:#12361f}}\n"
    "@media print{:root{--ink:#000;--paper:#fff;--line:#bbb;--soft:#444;--mark:#e6f4e8}"
    "figure,tr{break-inside:avoid}h2,h3{break-after:avoid}"
    "div.wide{overflow:visible!important}table{font-size:.62rem!important}"
    "th,td{padding:.1rem .3rem!important}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);"
    "max-width:62rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.6rem;margin-bottom:.2rem}h2{font-size:1.25rem;margin-top:2.5rem;"
    "border-bottom:1px solid var(--line)}h3{font-size:1rem;margin-bottom:.3rem}\n"
    "p,figcaption{color:var(--soft)}\n"
    "div.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;margin:.5rem 0}"
    "th,td{padding:.2rem .55rem;border-bottom:1px solid var(--line);text-align:right;"
    "white-space:nowrap;font-variant-numeric:tabular-nums}"
    "th:first-child,td:first-child{text-align:left}td.best{background:var(--mark);"
    "font-weight:600}\n"
    "figure{margin:1rem 0}svg{max-width:100%;height:auto}"
    /* What gnuplot draws in black takes the page's colour. */
    "svg [color=black]{color:inherit}svg [fill=black]{fill:currentColor}"
    "svg [stroke=black]{stroke:currentColor}\n";

void bench_html_text(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            (void)fputs("&amp;", out);
            break;
        case '<':
            (void)fputs("&lt;", out);
            break;
        case '>':
            (void)fputs("&gt;", out);
            break;
        default:
            (void)fputc(*text, out);
        }
    }
}

void bench_html_element(FILE *out, const char *tag, const char *text)
{
    (void)fprintf(out, "<%s>", tag);
    bench_html_text(out, text);
    (void)fprintf(out, "</%s>\n", tag);
}

void bench_html_begin(FILE *out, const char *title)
{
    (void)fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                out);
    bench_html_element(out, "title", title);
    (void)fprintf(out, "<style>\n%s</style></head><body>\n", style);
    bench_html_element(out, "h1", title);
}

void bench_html_end(FILE *out)
{
    (void)fputs("</body></html>\n", out);
}

void bench_html_number(FILE *out, double value, int decimals, bool best)
{
    (void)fprintf(out, "<td%s>%.*f</td>", best ? " class=\"best\"" : "", decimals, value);
}

void bench_html_chart(FILE *out, const bench_chart *chart)
{
    (void)fputs("<figure>\n", out);
    if (!bench_chart_write(chart, out)) {
        (void)fputs("<figcaption>", out);
        bench_html_text(out, chart->title);
        (void)fputs(": no chart, since gnuplot could not be run.</figcaption>", out);
    }
    (void)fputs("</figure>\n", out);
}

void bench_html_absent(FILE *out, const bench_lineup *lineup)
{
    if (lineup->absent_count == 0)
        return;
    (void)fputs("<p>Not measured: ", out);
    for (size_t i = 0; i < lineup->absent_count; i++) {
        (void)fputs(i > 0 ? "; " : "", out);
        bench_html_text(out, lineup->absent[i].name);
        (void)fputs(" (", out);
        bench_html_text(out, lineup->absent[i].reason);
        (void)fputs(")", out);
    }
    (void)fputs(".</p>\n", out);
}
