/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage: reference-counted bytes on a device, with a deleter for borrowed memory. Small storages
   keep their bytes inside the header block. A pinned storage (a kernel runs on it without the
   interpreter lock, or a buffer is exported) may not be resized, freed or replaced.

   Lazy clones share bytes until one of them is written: see Note [Copy on write] in the README. */
#ifndef MT_CORE_STORAGE_H
#define MT_CORE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "base/refcount.h"
#include "core/device.h"

typedef void mt_deleter(void *ctx);

enum {
    MT_STORAGE_RESIZABLE = 1, /* memory is ours; borrowed memory cannot be resized */
    MT_STORAGE_INLINE = 2,    /* data lies in the header block */
    MT_STORAGE_READONLY = 4,  /* borrowed memory that nobody may write: the first writer gets a copy */
    /* never to be resized again, because others know its address (NumPy arrays) */
    MT_STORAGE_FIXED = 16,
    /* was once larger: its tensors may lie outside, see mt_tensor_check_bounds */
    MT_STORAGE_SHRUNK = 8,
    MT_STORAGE_COW = 32,      /* its bytes may be others' too: not to be written before mt_storage_own */
    MT_STORAGE_HELD = 64,     /* its bytes belong to ctx, an mt_cow (core/cow.c) */
    MT_STORAGE_LENT = 128,    /* an mt_cow holds the inline bytes: the header must outlive it */
    MT_STORAGE_DEAD = 256,    /* is gone but for its lent bytes */
    MT_STORAGE_RETIRED = 512, /* bytes it had are kept for a kernel that reads them: freed when unpinned */
};

typedef struct mt_storage {
    mt_refcount refs;
    uint16_t flags;
    mt_device device;
    void *data; /* NULL for meta and for empty storages */
    size_t nbytes;
    uint32_t pins;
    uint32_t born;       /* mt_thread.born when it was made: tells what a transform captured from what it made */
    mt_deleter *deleter; /* NULL: memory from the device's allocator */
    void *ctx;           /* the deleter's argument; of HELD storages an mt_cow */
    /* the Python object, borrowed or owned as for tensors (core/tensor.h); cleared by it */
    void *py;
} mt_storage;

/* Hooks of Python objects of tensors and storages, installed by bindings: Python reference counting
   of `py`. */
typedef struct mt_wrapper_hooks {
    void (*incref)(void *py);
    void (*decref)(void *py);
} mt_wrapper_hooks;
extern mt_wrapper_hooks mt_wrapper; /* defined in tensor.c */

/* Uninitialised memory, or zeros. */
int mt_storage_new(mt_storage **out, size_t nbytes, mt_device device);
int mt_storage_new_zeroed(mt_storage **out, size_t nbytes, mt_device device);
/* Borrowed memory; deleter(ctx) runs exactly once when the storage dies. On failure it is not
   run. */
int mt_storage_from_memory(mt_storage **out, void *data, size_t nbytes, mt_device device, mt_deleter *deleter,
                           void *ctx);
/* Keeps the first min(old, new) bytes. RuntimeError for borrowed or pinned memory; then
   unchanged. */
int mt_storage_resize(mt_storage *s, size_t nbytes);
void mt_storage_destroy(mt_storage *s);

/* A storage with the same bytes, which are copied when one of the two is written first. Bytes that others can write behind
   our back (pinned, exported to NumPy) are copied at once. RuntimeError for borrowed memory. */
int mt_storage_lazy_clone(mt_storage **out, mt_storage *s);
/* Before anything is written: bytes of its own. Fails without memory and inside a parallel region; then unchanged. */
int mt_storage_own_slow(mt_storage *s) MT_COLD;
static inline int mt_storage_own(mt_storage *s)
{
    return MT_LIKELY(!(s->flags & MT_STORAGE_COW)) ? 0 : mt_storage_own_slow(s);
}
/* Borrowed memory becomes read-only: whoever writes the storage writes a copy, and its owner never sees it. */
int mt_storage_protect(mt_storage *s);
int mt_storage_protect_with(mt_storage *s, mt_deleter *deleter, void *ctx); /* sets the deleter; not run on failure */
/* For those who hand out the address: bytes of its own, unless they may not be written by anybody. */
static inline int mt_storage_expose(mt_storage *s)
{
    return s->flags & MT_STORAGE_READONLY ? 0 : mt_storage_own(s);
}
/* For writers that forgot mt_storage_own; counted, so that a test finds them. */
void mt_storage_own_late(mt_storage *s) MT_COLD;
extern unsigned mt_storage_late_count;
void mt_storage_drop_retired(mt_storage *s) MT_COLD;

static inline mt_storage *mt_storage_ref(mt_storage *s)
{
    if (mt_refcount_inc(&s->refs) == 2 && s->py)
        mt_wrapper.incref(s->py);
    return s;
}

static inline void mt_storage_unref(mt_storage *s)
{
    uint32_t left;

    if (!s)
        return;
    left = mt_refcount_dec(&s->refs);
    if (left == 0)
        mt_storage_destroy(s);
    else if (left == 1 && s->py)
        mt_wrapper.decref(s->py);
}

static inline void mt_storage_clear(mt_storage **s)
{
    mt_storage *old = *s;

    *s = NULL;
    mt_storage_unref(old);
}

static inline void mt_storage_pin(mt_storage *s)
{
    s->pins++;
}

static inline void mt_storage_unpin(mt_storage *s)
{
    if (--s->pins == 0 && MT_UNLIKELY(s->flags & MT_STORAGE_RETIRED))
        mt_storage_drop_retired(s);
}

/* The only two ways to the bytes: reading never copies; who writes has called mt_storage_own, as the dispatcher does for
   all that an op writes. Mutable access happens before a parallel region, never inside one. */
static inline const void *mt_storage_const_data(const mt_storage *s)
{
    return s->data;
}

static inline void *mt_storage_mutable_data(mt_storage *s)
{
    if (MT_UNLIKELY(s->flags & MT_STORAGE_COW))
        mt_storage_own_late(s);
    return s->data;
}

#endif
