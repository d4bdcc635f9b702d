/* SPDX-License-Identifier: BSD-3-Clause */
/* Storages. Up to 16 bytes lie behind the header in the same pool object, so a one-element tensor
   costs two pool objects and no block. The invariants (who owns the bytes, what pinning forbids)
   are in the README of this folder. */
#include "core/storage_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "core/dispatch.h"

enum { INLINE_BYTES = 16, KEEP_FREE = 32768 };

static mt_pool storage_pool = MT_POOL_INIT(sizeof(mt_storage) + INLINE_BYTES, KEEP_FREE);

static void *inline_data(mt_storage *s)
{
    return s + 1;
}

int mt_storage_new_header(mt_storage **out, size_t nbytes, mt_device device)
{
    void *p;
    mt_storage *s;

    *out = NULL;
    if (mt_pool_get(&p, &storage_pool) < 0)
        return -1;
    s = p;
    mt_refcount_init(&s->refs);
    s->flags = MT_STORAGE_RESIZABLE;
    s->device = device;
    s->data = NULL;
    s->nbytes = nbytes;
    s->pins = 0;
    s->born = mt_thread.born;
    s->deleter = NULL;
    s->ctx = NULL;
    s->py = NULL;
    *out = s;
    return 0;
}

static MT_NOINLINE int new_on_device(mt_storage **out, size_t nbytes, mt_device device, bool zeroed)
{
    const mt_device_ops *ops;
    mt_storage *s;

    *out = NULL;
    if (mt_device_check(&device) < 0)
        return -1;
    ops = mt_device_table[device.type];
    if (mt_storage_new_header(&s, nbytes, device) < 0)
        return -1;
    if (nbytes && ops->alloc(&s->data, nbytes, device, zeroed) < 0) {
        mt_pool_put(&storage_pool, s);
        return -1;
    }
    *out = s;
    return 0;
}

int mt_storage_new(mt_storage **out, size_t nbytes, mt_device device)
{
    mt_storage *s;

    if (MT_UNLIKELY(device.type != MT_DEVICE_CPU))
        return new_on_device(out, nbytes, device, false);
    if (mt_storage_new_header(&s, nbytes, device) < 0) {
        *out = NULL;
        return -1;
    }
    if (nbytes - 1 < INLINE_BYTES) {
        s->flags |= MT_STORAGE_INLINE;
        s->data = inline_data(s);
    } else if (MT_UNLIKELY(mt_data_alloc(&s->data, nbytes) < 0)) {
        mt_pool_put(&storage_pool, s);
        *out = NULL;
        return -1;
    }
    *out = s;
    return 0;
}

int mt_storage_new_zeroed(mt_storage **out, size_t nbytes, mt_device device)
{
    mt_storage *s;

    *out = NULL;
    if (device.type != MT_DEVICE_CPU)
        return new_on_device(out, nbytes, device, true);
    if (mt_storage_new_header(&s, nbytes, device) < 0)
        return -1;
    if (nbytes - 1 < INLINE_BYTES) {
        s->flags |= MT_STORAGE_INLINE;
        s->data = inline_data(s);
        memset(s->data, 0, nbytes);
    } else if (mt_data_alloc_zeroed(&s->data, nbytes) < 0) {
        mt_pool_put(&storage_pool, s);
        return -1;
    }
    *out = s;
    return 0;
}

int mt_storage_from_memory(mt_storage **out, void *data, size_t nbytes, mt_device device, mt_deleter *deleter,
                           void *ctx)
{
    if (mt_storage_new_header(out, nbytes, device) < 0)
        return -1;
    (*out)->flags = 0;
    (*out)->data = data;
    (*out)->deleter = deleter;
    (*out)->ctx = ctx;
    return 0;
}

void mt_storage_put_header(mt_storage *s)
{
    mt_pool_put(&storage_pool, s);
}

/* Gives the bytes back to whom they belong. */
static void release_data(const mt_storage *s)
{
    if (s->flags & MT_STORAGE_INLINE)
        return;
    if (s->flags & MT_STORAGE_HELD) {
        mt_cow_unref(s->ctx);
    } else if (!(s->flags & MT_STORAGE_RESIZABLE)) {
        if (s->deleter)
            s->deleter(s->ctx);
    } else if (s->device.type == MT_DEVICE_CPU) {
        mt_data_free(s->data, s->nbytes);
    } else if (s->data) {
        mt_device_table[s->device.type]->free(s->data, s->nbytes, s->device);
    }
}

void mt_storage_destroy(mt_storage *s)
{
    release_data(s);
    if (MT_UNLIKELY(s->flags & MT_STORAGE_RETIRED))
        mt_storage_drop_retired(s);
    if (MT_UNLIKELY(s->flags & MT_STORAGE_LENT))
        s->flags |= MT_STORAGE_DEAD; /* the last reader of the inline bytes gives the header back */
    else
        mt_pool_put(&storage_pool, s);
}

int mt_storage_new_data(void **out, bool *is_inline, mt_storage *s, size_t kept, size_t nbytes)
{
    const mt_device_ops *ops = mt_device_table[s->device.type];

    *out = NULL;
    *is_inline = false;
    if (nbytes == 0)
        return 0;
    if (s->device.type == MT_DEVICE_CPU && nbytes <= INLINE_BYTES && !(s->flags & MT_STORAGE_LENT)) {
        *is_inline = true;
        *out = inline_data(s);
    } else if (ops->alloc(out, nbytes, s->device, false) < 0) {
        return -1;
    }
    if (!kept || !s->data || !*out || *out == s->data ||
        ops->copy_bytes(*out, s->device, s->data, s->device, kept) == 0)
        return 0;
    if (!*is_inline)
        ops->free(*out, nbytes, s->device);
    return -1;
}

void mt_storage_take_data(mt_storage *s, void *data, bool is_inline)
{
    s->flags &= (uint16_t)~(MT_STORAGE_INLINE | MT_STORAGE_COW | MT_STORAGE_HELD);
    if (is_inline)
        s->flags |= MT_STORAGE_INLINE;
    s->data = data;
    s->ctx = NULL;
}

int mt_storage_resize(mt_storage *s, size_t nbytes)
{
    void *data;
    bool is_inline;

    if (!(s->flags & MT_STORAGE_RESIZABLE) || (s->flags & MT_STORAGE_FIXED))
        return mt_error_set(MT_ERR_RUNTIME, "Trying to resize storage that is not resizable");
    if (s->pins)
        return mt_error_set(MT_ERR_RUNTIME, "Trying to resize storage that is in use elsewhere");
    if (nbytes == s->nbytes)
        return 0;
    if (!(s->flags & MT_STORAGE_INLINE) || nbytes - 1 >= INLINE_BYTES) {
        if (mt_storage_new_data(&data, &is_inline, s, nbytes < s->nbytes ? nbytes : s->nbytes, nbytes) < 0)
            return -1;
        release_data(s);
        mt_storage_take_data(s, data, is_inline);
    }
    if (nbytes < s->nbytes)
        s->flags |= MT_STORAGE_SHRUNK;
    s->nbytes = nbytes;
    return 0;
}
