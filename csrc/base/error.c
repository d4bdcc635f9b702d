/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread-local error record and the warning hook. Records are fixed buffers in a static table,
   so that setting an error cannot fail and the thread-local block of the library stays small (a
   library that is loaded late gets little of it). A thread claims one at its first error and gives
   it back when it ends; beyond the table threads share the last one. A message that does not fit is
   cut at a whole character. */
#include "base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_BYTES = 4096 };

typedef struct error_record {
    mt_error_kind kind;
    char message[MESSAGE_BYTES];
} error_record;

enum { RECORDS = 256 };
static error_record table[RECORDS];
static uint8_t taken[RECORDS];
static MT_THREAD_LOCAL error_record *own;
static pthread_key_t at_thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void give_back(void *claimed)
{
    __atomic_store_n(&taken[(error_record *)claimed - table], 0, __ATOMIC_RELEASE);
}

static void make_key(void)
{
    pthread_key_create(&at_thread_end, give_back);
}

static MT_NOINLINE error_record *claim_record(void)
{
    pthread_once(&once, make_key);
    own = &table[RECORDS - 1];
    for (int i = 0; i < RECORDS - 1; i++)
        if (!__atomic_exchange_n(&taken[i], 1, __ATOMIC_ACQUIRE)) {
            own = &table[i];
            pthread_setspecific(at_thread_end, own);
            break;
        }
    own->kind = MT_ERR_NONE;
    own->message[0] = '\0';
    return own;
}

static inline error_record *my_record(void)
{
    return own ? own : claim_record();
}

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
    error_record *record = my_record();
    va_list args;

    va_start(args, format);
    format_into(text, sizeof(text), format, args);
    va_end(args);
    record->kind = kind;
    memcpy(record->message, text, strlen(text) + 1);
    return -1;
}

mt_error_kind mt_error_get(void)
{
    return own ? own->kind : MT_ERR_NONE;
}

const char *mt_error_message(void)
{
    return !own || own->kind == MT_ERR_NONE ? "" : own->message;
}

void mt_error_clear(void)
{
    if (!own)
        return;
    own->kind = MT_ERR_NONE;
    own->message[0] = '\0';
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

void mt_error_name_op(const char *op_name)
{
    error_record *record = my_record();
    size_t name = 0, prefix = strlen(op_name) + 4, length = strlen(record->message);

    if (record->kind == MT_ERR_NONE || record->kind == MT_ERR_PYTHON)
        return;
    while (is_name_char(record->message[name]))
        name++;
    if (name > 0 && record->message[name] == '(')
        return;
    if (prefix >= MESSAGE_BYTES)
        return;
    if (length + prefix >= MESSAGE_BYTES) {
        length = MESSAGE_BYTES - 1 - prefix;
        cut_incomplete(record->message, length);
        length = strnlen(record->message, length);
    }
    memmove(record->message + prefix, record->message, length);
    record->message[prefix + length] = '\0';
    memcpy(record->message, op_name, prefix - 4);
    memcpy(record->message + prefix - 4, "(): ", 4);
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
