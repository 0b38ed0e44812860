/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model_json_scan.h"

#include "models/model_json.h"

#include <string.h>

/* A walk over the text that knows strings, numbers and nesting, and leaves the grammar around them
 * to cJSON. `fault` is set once, to what is wrong at `at`. */
typedef struct json_scan {
    const char *text;
    size_t size;
    size_t at;
    size_t depth;
    const char *fault;
} json_scan;

static char scan_peek(const json_scan *scan, size_t ahead)
{
    return ahead < scan->size - scan->at ? scan->text[scan->at + ahead] : '\0';
}

/* From the opening quote to behind the closing one. */
static void scan_string(json_scan *scan)
{
    static const char nul_escape[] = "\\u0000";
    scan->at++;
    while (scan->at < scan->size && scan->text[scan->at] != '"') {
        if ((unsigned char)scan->text[scan->at] < 0x20) {
            scan->fault = "a string holds a control character that is not escaped";
            return;
        }
        if (scan->text[scan->at] == '\\') {
            const size_t left = scan->size - scan->at;
            if (left >= 6 && memcmp(scan->text + scan->at, nul_escape, 6) == 0) {
                scan->fault = "a string holds the character NUL";
                return;
            }
            scan->at++;
        }
        scan->at++;
    }
    if (scan->at >= scan->size) {
        scan->at = scan->size;
        scan->fault = "a string is not closed";
        return;
    }
    scan->at++;
}

static size_t scan_digits(const json_scan *scan, size_t ahead)
{
    size_t n = 0;
    for (char c = scan_peek(scan, ahead); c >= '0' && c <= '9'; c = scan_peek(scan, ahead + n)) {
        n++;
    }
    return n;
}

/* From the first character of a number to behind it: -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)? */
static void scan_number(json_scan *scan)
{
    size_t n = scan_peek(scan, 0) == '-' ? 1 : 0;
    const size_t whole = scan_digits(scan, n);
    bool good = whole == 1 || (whole > 1 && scan_peek(scan, n) != '0');
    n += whole;
    if (scan_peek(scan, n) == '.') {
        const size_t fraction = scan_digits(scan, n + 1);
        good = good && fraction > 0;
        n += 1 + fraction;
    }
    if (scan_peek(scan, n) == 'e' || scan_peek(scan, n) == 'E') {
        const char sign = scan_peek(scan, n + 1);
        n += sign == '+' || sign == '-' ? 2 : 1;
        const size_t exponent = scan_digits(scan, n);
        good = good && exponent > 0;
        n += exponent;
    }
    if (!good) {
        scan->fault = "a number is malformed";
        return;
    }
    scan->at += n;
}

static void scan_plain(json_scan *scan, char c)
{
    if (c == '{' || c == '[') {
        scan->depth++;
        if (scan->depth > MODEL_JSON_DEPTH) {
            scan->fault = "the nesting is too deep";
            return;
        }
    } else if ((c == '}' || c == ']') && scan->depth > 0) {
        scan->depth--;
    } else if ((unsigned char)c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
        scan->fault = "a control character stands between the values";
        return;
    }
    scan->at++;
}

const char *model_json_scan(const char *text, size_t size, size_t *at)
{
    json_scan state = {text, size, 0, 0, NULL};
    json_scan *scan = &state;
    while (scan->at < scan->size && scan->fault == NULL) {
        const char c = scan->text[scan->at];
        if (c == '"') {
            scan_string(scan);
        } else if (c == '-' || (c >= '0' && c <= '9')) {
            scan_number(scan);
        } else {
            scan_plain(scan, c);
        }
    }
    *at = state.at;
    return state.fault;
}
