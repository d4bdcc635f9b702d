/* SPDX-License-Identifier: BSD-3-Clause */
/* The complete list of control-flow and attribute macros. Anything else is an inline function.
   Two macros change control flow, MT_TRY and MT_REQUIRE; both jump to the label `fail` of the
   function, which clears its owning locals and returns `rc`, still -1. */
#ifndef MT_BASE_MACROS_H
#define MT_BASE_MACROS_H

#if defined(__GNUC__) || defined(__clang__)
#define MT_LIKELY(cond) __builtin_expect(!!(cond), 1)
#define MT_UNLIKELY(cond) __builtin_expect(!!(cond), 0)
#define MT_PRINTF(fmt_arg, first_arg) __attribute__((format(printf, fmt_arg, first_arg)))
#define MT_COLD __attribute__((cold, noinline))
#define MT_NOINLINE __attribute__((noinline))
#define MT_ALWAYS_INLINE inline __attribute__((always_inline))
#define MT_UNUSED __attribute__((unused))
#define MT_ALIGNED(n) __attribute__((aligned(n)))
/* The extension is loaded at start-up by the interpreter and its hot thread-local block is small,
   so the cheap access model is safe. */
#define MT_THREAD_LOCAL_FAST __thread __attribute__((tls_model("initial-exec")))
#define MT_THREAD_LOCAL __thread
#define MT_EXPORT __attribute__((visibility("default")))
#else
#error "minitorch needs gcc or clang"
#endif

#define MT_TRY(expr)                 \
    do {                             \
        if (MT_UNLIKELY((expr) < 0)) \
            goto fail;               \
    } while (0)

#define MT_REQUIRE(cond, kind, ...)          \
    do {                                     \
        if (MT_UNLIKELY(!(cond))) {          \
            mt_error_set(kind, __VA_ARGS__); \
            goto fail;                       \
        }                                    \
    } while (0)

#ifdef MT_DEBUG
#include <stdlib.h>
#define MT_ASSERT(cond) ((cond) ? (void)0 : abort())
#else
#define MT_ASSERT(cond) ((void)0)
#endif

#define MT_COUNTOF(array) (sizeof(array) / sizeof((array)[0]))

#endif
