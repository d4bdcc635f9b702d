/* SPDX-License-Identifier: BSD-3-Clause */
/* Lazy clones: storages that share bytes until one of them is written. See Note [Copy on write] in the README of this
   folder. Everything here runs under the interpreter lock. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/parallel.h"
#include "core/storage_internal.h"

unsigned mt_storage_late_count;

void mt_cow_unref(mt_cow *cow)
{
    mt_storage *home = cow->home;

    if (mt_refcount_dec(&cow->refs) > 0)
        return;
    if (home) {
        home->flags &= (uint16_t)~MT_STORAGE_LENT;
        if (home->flags & MT_STORAGE_DEAD)
            mt_storage_put_header(home);
    } else if (cow->borrowed) {
        if (cow->deleter)
            cow->deleter(cow->ctx);
    } else if (cow->data) {
        mt_device_table[cow->device.type]->free(cow->data, cow->nbytes, cow->device);
    }
    mt_free(cow);
}

static int cow_new(mt_cow **out, mt_storage *s)
{
    void *p;
    mt_cow *cow;

    if (mt_malloc(&p, sizeof(mt_cow)) < 0)
        return -1;
    cow = *out = p;
    *cow = (mt_cow){.device = s->device, .data = s->data, .nbytes = s->nbytes};
    mt_refcount_init(&cow->refs);
    return 0;
}

/* The bytes of s, from now on owned by a context that others can join. */
static int hold(mt_storage *s)
{
    mt_cow *cow;

    if (s->flags & MT_STORAGE_HELD)
        return 0;
    if (cow_new(&cow, s) < 0)
        return -1;
    if (s->flags & MT_STORAGE_INLINE) {
        cow->home = s;
        s->flags = (uint16_t)((s->flags & ~MT_STORAGE_INLINE) | MT_STORAGE_LENT);
    }
    s->flags |= MT_STORAGE_HELD;
    s->ctx = cow;
    return 0;
}

int mt_storage_protect(mt_storage *s)
{
    return mt_storage_protect_with(s, s->deleter, s->ctx);
}

int mt_storage_protect_with(mt_storage *s, mt_deleter *deleter, void *ctx)
{
    mt_cow *cow;

    if (s->flags & (MT_STORAGE_HELD | MT_STORAGE_RESIZABLE))
        return mt_error_set(MT_ERR_RUNTIME, "only borrowed memory can be made read-only");
    if (cow_new(&cow, s) < 0)
        return -1;
    cow->borrowed = true;
    cow->deleter = deleter;
    cow->ctx = ctx;
    s->deleter = NULL;
    s->ctx = cow;
    s->flags |= MT_STORAGE_HELD | MT_STORAGE_COW | MT_STORAGE_READONLY;
    return 0;
}

static int copy_now(mt_storage **out, mt_storage *s)
{
    const mt_device_ops *ops = mt_device_table[s->device.type];
    mt_storage *clone;

    if (mt_storage_new(&clone, s->nbytes, s->device) < 0)
        return -1;
    if (s->data && s->nbytes && ops->copy_bytes(clone->data, s->device, s->data, s->device, s->nbytes) < 0) {
        mt_storage_unref(clone);
        return -1;
    }
    *out = clone;
    return 0;
}

int mt_storage_lazy_clone(mt_storage **out, mt_storage *s)
{
    mt_storage *clone;

    *out = NULL;
    if (!(s->flags & MT_STORAGE_RESIZABLE))
        return mt_error_set(MT_ERR_RUNTIME,
                            "_lazy_clone(): the memory of the storage is borrowed or shared between processes and "
                            "cannot be cloned lazily");
    if (s->pins || (s->flags & MT_STORAGE_FIXED))
        return copy_now(out, s);
    if (mt_storage_new_header(&clone, s->nbytes, s->device) < 0)
        return -1;
    if (hold(s) < 0) {
        mt_storage_put_header(clone);
        return -1;
    }
    s->flags |= MT_STORAGE_COW;
    clone->flags = MT_STORAGE_RESIZABLE | MT_STORAGE_HELD | MT_STORAGE_COW;
    clone->data = s->data;
    clone->ctx = s->ctx;
    mt_refcount_inc(&((mt_cow *)s->ctx)->refs);
    *out = clone;
    return 0;
}

/* --- bytes that a kernel reads without the lock while their storage gets others --- */

typedef struct retired {
    struct retired *next;
    mt_storage *storage;
    mt_cow *cow;
} retired;
static retired *all_retired;

/* Takes over the reference to the context when there is somebody to wait for. */
static int retire(mt_storage *s, mt_cow *cow)
{
    void *p;
    retired *r;

    if (mt_malloc(&p, sizeof(retired)) < 0)
        return -1;
    r = p;
    r->next = all_retired;
    r->storage = s;
    r->cow = cow;
    all_retired = r;
    return 0;
}

void mt_storage_drop_retired(mt_storage *s)
{
    retired **at = &all_retired;

    s->flags &= (uint16_t)~MT_STORAGE_RETIRED;
    while (*at) {
        retired *r = *at;

        if (r->storage != s) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        mt_cow_unref(r->cow);
        mt_free(r);
    }
}

/* --- the first write --- */

static int copy_apart(mt_storage *s, mt_cow *cow)
{
    bool is_inline, is_read = s->pins > 0;
    void *data;

    if (mt_storage_new_data(&data, &is_inline, s, s->nbytes, s->data ? s->nbytes : 0) < 0)
        return -1;
    if (is_read && retire(s, cow) < 0) {
        if (data && !is_inline)
            mt_device_table[s->device.type]->free(data, s->nbytes, s->device);
        return -1;
    }
    mt_storage_take_data(s, data, is_inline);
    if (is_read)
        s->flags |= MT_STORAGE_RETIRED;
    else
        mt_cow_unref(cow);
    return 0;
}

int mt_storage_own_slow(mt_storage *s)
{
    mt_cow *cow = s->ctx;

    if (mt_in_parallel_region())
        return mt_error_set(MT_ERR_RUNTIME, "Materializing a storage in a parallel region is not allowed: whoever "
                                            "writes a tensor takes its address before the region begins");
    if (mt_refcount_get(&cow->refs) > 1 || (s->flags & MT_STORAGE_READONLY)) {
        if (copy_apart(s, cow) < 0)
            return -1;
        if (s->flags & MT_STORAGE_READONLY) /* the memory is ours now */
            s->flags = (uint16_t)((s->flags & ~MT_STORAGE_READONLY) | MT_STORAGE_RESIZABLE);
        return 0;
    }
    s->flags &= (uint16_t)~MT_STORAGE_COW; /* nobody else is left */
    return 0;
}

void mt_storage_own_late(mt_storage *s)
{
    mt_storage_late_count++;
    if (mt_storage_own_slow(s) < 0)
        mt_error_clear();
}
