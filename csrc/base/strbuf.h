/* SPDX-License-Identifier: BSD-3-Clause */
/* Growing string for messages and printed forms. Failure to grow is remembered and reported once
   by mt_strbuf_finish, so that callers append without checking each step. */
#ifndef MT_BASE_STRBUF_H
#define MT_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

typedef struct mt_strbuf {
    char *data; /* NUL terminated once anything was appended */
    size_t length, capacity;
    bool failed;
} mt_strbuf;
#define MT_STRBUF_INIT {NULL, 0, 0, false}

void mt_strbuf_append(mt_strbuf *s, const char *text, size_t length);
void mt_strbuf_puts(mt_strbuf *s, const char *text);
void mt_strbuf_printf(mt_strbuf *s, const char *format, ...) MT_PRINTF(2, 3);
/* "[2, 3]" */
void mt_strbuf_ints(mt_strbuf *s, const int64_t *values, int n);
int mt_strbuf_finish(mt_strbuf *s);
void mt_strbuf_clear(mt_strbuf *s);

/* Shapes inside error messages: writes "[2, 3]" into a fixed buffer and returns it. */
typedef struct mt_shape_text {
    char text[200];
} mt_shape_text;
const char *mt_shape_format(mt_shape_text *out, const int64_t *values, int n);

#endif
