/* Says what the C library's regcomp and regexec do. Reads cases from standard input until its end, and writes an answer
 * to each. Numbers have 32 bits, the lowest octet first; a text is a number and so many octets.
 *
 * Case:   whether case is ignored (0, 1); the expression, a text; the number of texts; the texts.
 * Answer: 1 if the expression is refused, else 0 and the number of groups, and for each text whether it matches (0, 1)
 *         if submatches are not asked for, whether it does if they are, and in this case the start and end of the match
 *         and of each group (-1: it takes no part in the match).
 *
 * A case that takes too long ends the program by SIGVTALRM: for some expressions, regexec never ends. */
#define _GNU_SOURCE
#include <regex.h>
#ifndef __GLIBC__
#error "slapd's expressions are those of glibc, and this is another C library"
#endif
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static int read_number(uint32_t *number)
{
    unsigned char octets[4];
    if (fread(octets, 1, sizeof octets, stdin) != sizeof octets)
        return 0;
    *number = octets[0] | octets[1] << 8 | octets[2] << 16 | (uint32_t)octets[3] << 24;
    return 1;
}

static uint32_t expect_number(void)
{
    uint32_t number;
    if (!read_number(&number))
        exit(2);
    return number;
}

/* The octets, and a NUL behind them. */
static char *expect_text(void)
{
    uint32_t length = expect_number();
    char *text = malloc((size_t)length + 1);
    if (text == NULL || fread(text, 1, length, stdin) != length)
        exit(2);
    text[length] = 0;
    return text;
}

static void write_number(uint32_t number)
{
    for (int shift = 0; shift < 32; shift += 8)
        putchar(number >> shift & 0xff);
}

static void answer_text(const regex_t *regex, regmatch_t *spans)
{
    char *text = expect_text();
    write_number(regexec(regex, text, 0, NULL, 0) == 0);
    int is_match = regexec(regex, text, regex->re_nsub + 1, spans, 0) == 0;
    write_number(is_match);
    for (size_t group = 0; is_match && group <= regex->re_nsub; group++) {
        write_number(spans[group].rm_so);
        write_number(spans[group].rm_eo);
    }
    free(text);
}

static void answer_case(uint32_t is_case_ignored)
{
    char *expression = expect_text();
    uint32_t texts = expect_number();
    regex_t regex;
    int is_refused = regcomp(&regex, expression, REG_EXTENDED | (is_case_ignored ? REG_ICASE : 0)) != 0;
    write_number(is_refused);
    if (!is_refused)
        write_number(regex.re_nsub);
    regmatch_t *spans = is_refused ? NULL : calloc(regex.re_nsub + 1, sizeof *spans);
    while (texts-- > 0) {
        if (is_refused)
            free(expect_text());
        else
            answer_text(&regex, spans);
    }
    free(spans);
    if (!is_refused)
        regfree(&regex);
    free(expression);
}

int main(void)
{
    uint32_t is_case_ignored;
    while (read_number(&is_case_ignored)) {
        struct itimerval limit = {.it_value = {.tv_usec = 100000}};
        setitimer(ITIMER_VIRTUAL, &limit, NULL);
        answer_case(is_case_ignored);
        fflush(stdout);
    }
    return 0;
}
