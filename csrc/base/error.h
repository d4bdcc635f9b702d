/* SPDX-License-Identifier: BSD-3-Clause */
/* Thread-local error record and warnings. A fallible function returns 0 or -1; after -1 the
   record of this thread says why. Setting an error never allocates. */
#ifndef MT_BASE_ERROR_H
#define MT_BASE_ERROR_H

#include <stdbool.h>

#include "base/macros.h"

typedef enum mt_error_kind {
    MT_ERR_NONE,
    MT_ERR_VALUE,
    MT_ERR_TYPE,
    MT_ERR_INDEX,
    MT_ERR_RUNTIME,
    MT_ERR_NOT_IMPLEMENTED,
    MT_ERR_MEMORY,
    MT_ERR_OVERFLOW,
    MT_ERR_BUFFER,
    MT_ERR_ATTRIBUTE,
    MT_ERR_LINALG, /* a matrix that a decomposition or solver cannot do */
    MT_ERR_CUDA,
    MT_ERR_CUDA_MEMORY,
    MT_ERR_INTERNAL,
    MT_ERR_PYTHON, /* the interpreter already holds an exception */
    MT_ERR_COUNT
} mt_error_kind;

/* Records kind and message, returns -1. Over-long messages are cut. */
int mt_error_set(mt_error_kind kind, const char *format, ...) MT_PRINTF(2, 3) MT_COLD;
mt_error_kind mt_error_get(void);
const char *mt_error_message(void);
void mt_error_clear(void);

/* Puts "op(): " in front of the message when it does not already begin with a function name. */
void mt_error_name_op(const char *op_name);

typedef enum mt_warning_kind { MT_WARN_USER, MT_WARN_DEPRECATION, MT_WARN_FUTURE } mt_warning_kind;

/* A warning that a filter turns into an exception gives -1 (kind MT_ERR_PYTHON). Without an
   installed handler it does nothing. The caller holds the interpreter lock. */
int mt_warn(mt_warning_kind kind, const char *format, ...) MT_PRINTF(2, 3) MT_COLD;
/* The same, once per process and flag. */
int mt_warn_once(bool *done, mt_warning_kind kind, const char *message) MT_COLD;
/* torch.set_warn_always: with it the once-only warnings come every time. */
void mt_warn_set_always(bool on);
bool mt_warn_get_always(void);
typedef int mt_warn_handler(mt_warning_kind kind, const char *message);
void mt_warn_install(mt_warn_handler *handler);

#endif
