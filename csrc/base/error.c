/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread-local error record and the warning hook. The record is a fixed buffer, so that setting
   an error cannot fail; a message that does not fit is cut at a whole character. Everything here is
   cold: nobody reads the record except after a -1. */
#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 4096 };

typedef struct error_record {
    mt_error_kind kind;
    char message[MESSAGE_BYTES];
} error_record;

static MT_THREAD_LOCAL error_record record;
static mt_warn_handler *warn_handler;
static bool warn_always;

/* Cuts a UTF-8 text that filled its buffer in front of an incomplete character. */
static void cut_incomplete(char *text, size_t length)
{
    size_t start = length;

    while (start > 0 && ((unsigned char)text[start - 1] & 0xc0u) == 0x80u)
        start--;
    if (start == 0)
        return;
    start--;
    unsigned char lead = (unsigned char)text[start];
    size_t need = lead >= 0xf0u ? 4 : lead >= 0xe0u ? 3 : lead >= 0xc0u ? 2 : 1;

    if (start + need > length)
        text[start] = '\0';
}

static void format_into(char *out, size_t capacity, const char *format, va_list args)
{
    int n = vsnprintf(out, capacity, format, args);

    if (n < 0)
        out[0] = '\0';
    else if ((size_t)n >= capacity)
        cut_incomplete(out, capacity - 1);
}

int mt_error_set(mt_error_kind kind, const char *format, ...)
{
    char text[MESSAGE_BYTES]; /* the arguments may point into the record */
    va_list args;

    va_start(args, format);
    format_into(text, sizeof(text), format, args);
    va_end(args);
    record.kind = kind;
    memcpy(record.message, text, strlen(text) + 1);
    return -1;
}

mt_error_kind mt_error_get(void)
{
    return record.kind;
}

const char *mt_error_message(void)
{
    return record.kind == MT_ERR_NONE ? "" : record.message;
}

void mt_error_clear(void)
{
    record.kind = MT_ERR_NONE;
    record.message[0] = '\0';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

void mt_error_name_op(const char *op_name)
{
    size_t name = 0, prefix = strlen(op_name) + 4, length = strlen(record.message);

    if (record.kind == MT_ERR_NONE || record.kind == MT_ERR_PYTHON)
        return;
    while (is_name_char(record.message[name]))
        name++;
    if (name > 0 && record.message[name] == '(')
        return;
    if (prefix >= MESSAGE_BYTES)
        return;
    if (length + prefix >= MESSAGE_BYTES) {
        length = MESSAGE_BYTES - 1 - prefix;
        cut_incomplete(record.message, length);
        length = strnlen(record.message, length);
    }
    memmove(record.message + prefix, record.message, length);
    record.message[prefix + length] = '\0';
    memcpy(record.message, op_name, prefix - 4);
    memcpy(record.message + prefix - 4, "(): ", 4);
}

void mt_warn_install(mt_warn_handler *handler)
{
    warn_handler = handler;
}

int mt_warn(mt_warning_kind kind, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list args;

    if (!warn_handler)
        return 0;
    va_start(args, format);
    format_into(text, sizeof(text), format, args);
    va_end(args);
    return warn_handler(kind, text);
}

int mt_warn_once(bool *done, mt_warning_kind kind, const char *message)
{
    if (*done && !warn_always)
        return 0;
    *done = true;
    return mt_warn(kind, "%s", message);
}

void mt_warn_set_always(bool on)
{
    warn_always = on;
}

bool mt_warn_get_always(void)
{
    return warn_always;
}
