/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing string. A failed growth sets `failed` and turns every later append into nothing, so that
   the caller asks once, in mt_strbuf_finish. The text is NUL terminated after each append. */
#include "base/strbuf.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

/* Room for `more` characters and the final NUL. */
static bool reserve(mt_strbuf *s, size_t more)
{
    size_t need, capacity;
    void *data = s->data;

    if (s->failed)
        return false;
    if (__builtin_add_overflow(s->length, more, &need) || __builtin_add_overflow(need, 1, &need) ||
        need > SIZE_MAX / 2) {
        s->failed = true;
        return false;
    }
    if (need <= s->capacity)
        return true;
    capacity = s->capacity < 64 ? 64 : s->capacity;
    while (capacity < need)
        capacity *= 2;
    if (mt_realloc(&data, capacity) < 0) {
        s->failed = true;
        return false;
    }
    s->data = data;
    s->capacity = capacity;
    return true;
}

void mt_strbuf_append(mt_strbuf *s, const char *text, size_t length)
{
    if (!reserve(s, length))
        return;
    if (length)
        memcpy(s->data + s->length, text, length);
    s->length += length;
    s->data[s->length] = '\0';
}

void mt_strbuf_puts(mt_strbuf *s, const char *text)
{
    mt_strbuf_append(s, text, strlen(text));
}

void mt_strbuf_printf(mt_strbuf *s, const char *format, ...)
{
    char small[256];
    va_list args, again;
    int n;

    va_start(args, format);
    va_copy(again, args);
    n = vsnprintf(small, sizeof(small), format, args);
    va_end(args);
    if (n < 0) {
        s->failed = true;
    } else if ((size_t)n < sizeof(small)) {
        mt_strbuf_append(s, small, (size_t)n);
    } else if (reserve(s, (size_t)n)) {
        vsnprintf(s->data + s->length, (size_t)n + 1, format, again);
        s->length += (size_t)n;
    }
    va_end(again);
}

void mt_strbuf_ints(mt_strbuf *s, const int64_t *values, int n)
{
    mt_strbuf_append(s, "[", 1);
    for (int i = 0; i < n; i++)
        mt_strbuf_printf(s, i ? ", %" PRId64 : "%" PRId64, values[i]);
    mt_strbuf_append(s, "]", 1);
}

int mt_strbuf_finish(mt_strbuf *s)
{
    if (!s->failed && !s->data)
        mt_strbuf_append(s, "", 0);
    if (s->failed)
        return mt_error_set(MT_ERR_MEMORY, "out of memory");
    return 0;
}

void mt_strbuf_clear(mt_strbuf *s)
{
    mt_free(s->data);
    *s = (mt_strbuf)MT_STRBUF_INIT;
}

/* Too many values for the buffer end in "...]". */
const char *mt_shape_format(mt_shape_text *out, const int64_t *values, int n)
{
    size_t used = 1;
    int i;

    out->text[0] = '[';
    for (i = 0; i < n; i++) {
        char item[32];
        int length = snprintf(item, sizeof(item), i ? ", %" PRId64 : "%" PRId64, values[i]);

        if (used + (size_t)length + 8 > sizeof(out->text))
            break;
        memcpy(out->text + used, item, (size_t)length);
        used += (size_t)length;
    }
    memcpy(out->text + used, i < n ? ", ...]" : "]", i < n ? 7 : 2);
    return out->text;
}
