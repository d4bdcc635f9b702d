/* SPDX-License-Identifier: BSD-3-Clause */
/* Casts for autocast. Which op wants what is a field of its catalog entry; here are the rules and the casts that are kept:
   a parameter that several ops read in one block is cast once. */
#include "autograd/autocast.h"

#include <stdatomic.h>
#include <string.h>

#include "autograd/autograd_internal.h"
#include "base/alloc.h"

static _Thread_local mt_autocast_state thread_state;

mt_autocast_state *mt_autocast(void)
{
    mt_autocast_state *s = &thread_state;

    if (!s->known) {
        memset(s->dtype, MT_DTYPE_f16, sizeof(s->dtype));
        s->dtype[MT_DEVICE_CPU] = MT_DTYPE_bf16;
        s->known = s->cache = true;
    }
    return s;
}

/* --- casts that are kept --- */

typedef struct kept {
    mt_tensor *source, *cast; /* owned; the cast holds the source through its history anyway */
} kept;

static kept *table;
static int n_kept, room;
static atomic_flag busy = ATOMIC_FLAG_INIT;

static void lock(void)
{
    while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire)) {
    }
}

static void unlock(void)
{
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* A new reference to the kept cast of t, or NULL. */
static mt_tensor *find_kept(const mt_tensor *t, mt_dtype dtype)
{
    mt_tensor *found = NULL;

    lock();
    for (int i = 0; i < n_kept && !found; i++)
        if (table[i].source == t && table[i].cast->dtype == dtype)
            found = mt_tensor_ref(table[i].cast);
    unlock();
    return found;
}

/* Without memory nothing is kept. */
static void keep(mt_tensor *t, mt_tensor *cast)
{
    lock();
    if (n_kept == room) {
        kept *more = mt_raw_malloc((size_t)(2 * room + 16) * sizeof(kept));

        if (!more) {
            unlock();
            return;
        }
        if (n_kept)
            memcpy(more, table, (size_t)n_kept * sizeof(kept));
        mt_raw_free(table);
        table = more;
        room = 2 * room + 16;
    }
    table[n_kept++] = (kept){mt_tensor_ref(t), mt_tensor_ref(cast)};
    unlock();
}

void mt_autocast_clear(void)
{
    kept *old;
    int n;

    lock();
    old = table;
    n = n_kept;
    table = NULL;
    n_kept = room = 0;
    unlock();
    for (int i = 0; i < n; i++) {
        mt_tensor_unref(old[i].cast);
        mt_tensor_unref(old[i].source);
    }
    mt_raw_free(old);
}

/* A parameter in the lower dtype. Without grad mode the cast has no history and would be wrong later. */
static bool is_kept(const mt_autocast_state *s, mt_tensor *t, mt_dtype dtype, int device)
{
    bool leaf;

    return s->cache && mt_thread.grad_mode && dtype == s->dtype[device] && t->dtype == MT_DTYPE_f32 && !t->base &&
           mt_tensor_is_tracked(t) && mt_autograd_is_leaf(&leaf, t) == 0 && leaf;
}

/* --- one call --- */

typedef struct casts {
    mt_value arg[MT_MAX_ARGS]; /* as they were */
    void *list[MT_MAX_ARGS];
    mt_tensor **owned;
    int n_owned, device;
    mt_autocast_state *state;
} casts;

static bool is_wanted(const mt_tensor *t, int device)
{
    return t && t->device.type == device &&
           (t->dtype == MT_DTYPE_f16 || t->dtype == MT_DTYPE_bf16 || t->dtype == MT_DTYPE_f32);
}

typedef int visitor(casts *c, mt_tensor **slot, mt_dtype *dtype);

static int visit(mt_call *call, casts *c, visitor *f, mt_dtype *dtype)
{
    for (int i = 0; i < call->n_args; i++) {
        mt_value *a = &call->arg[i];
        mt_tensor **list = a->kind == MT_ARG_TENSORS ? c->list[i] : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++)
            if (list[j] && f(c, &list[j], dtype) < 0)
                return -1;
    }
    return 0;
}

static int widen(casts *c, mt_tensor **slot, mt_dtype *dtype)
{
    if (is_wanted(*slot, c->device) && (*slot)->dtype != *dtype)
        *dtype = MT_DTYPE_f32;
    return 0;
}

static int cast_one(casts *c, mt_tensor **slot, mt_dtype *dtype)
{
    mt_tensor *t = *slot, *cast = NULL;
    bool keeps;

    if (!is_wanted(t, c->device) || t->dtype == *dtype)
        return 0;
    keeps = is_kept(c->state, t, *dtype, c->device);
    if (keeps)
        cast = find_kept(t, *dtype);
    if (!cast) {
        if (mt_autograd_op_cast(&cast, t, *dtype, t->device) < 0)
            return -1;
        if (keeps)
            keep(t, cast);
    }
    *slot = c->owned[c->n_owned++] = cast;
    return 0;
}

/* Lists become copies that may be written; `owned` has room for every tensor. */
static int prepare(mt_call *call, casts *c)
{
    int count = 0;

    for (int i = 0; i < call->n_args; i++) {
        mt_value *a = &call->arg[i];

        count += a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;
        if (a->kind != MT_ARG_TENSORS || a->v.tensors.n <= 0)
            continue;
        if (mt_malloc(&c->list[i], (size_t)a->v.tensors.n * sizeof(mt_tensor *)) < 0)
            return -1;
        memcpy(c->list[i], a->v.tensors.data, (size_t)a->v.tensors.n * sizeof(mt_tensor *));
        a->v.tensors.data = c->list[i];
    }
    return mt_malloc((void **)&c->owned, (size_t)(count + 1) * sizeof(mt_tensor *));
}

/* Ops that can choose the dtype of their result are told to, unless the caller has. */
static bool sets_dtype(mt_call *call)
{
    for (int i = 0; i < call->n_args; i++)
        if (call->arg[i].kind == MT_ARG_DTYPE) {
            if (call->arg[i].v.i == MT_DTYPE_NONE &&
                is_wanted(call->arg[0].v.tensor, call->arg[0].v.tensor->device.type))
                call->arg[i].v.i = MT_DTYPE_f32;
            return true;
        }
    return false;
}

static int cast_all(mt_call *call, casts *c, mt_autocast_policy policy)
{
    mt_dtype dtype = policy == MT_AUTOCAST_FLOAT32 ? MT_DTYPE_f32 : (mt_dtype)c->state->dtype[c->device];

    if (policy == MT_AUTOCAST_FLOAT32 && call->arg[0].kind == MT_ARG_TENSOR && call->arg[0].v.tensor &&
        sets_dtype(call))
        return 0;
    if (prepare(call, c) < 0 || (policy == MT_AUTOCAST_WIDEST && visit(call, c, widen, &dtype) < 0))
        return -1;
    return visit(call, c, cast_one, &dtype);
}

/* The type of device whose rules hold for a call, or -1. */
static int device_of(const mt_call *call)
{
    int device = -1;

    for (int i = 0; i < call->n_args; i++) {
        const mt_value *a = &call->arg[i];
        mt_tensor *const *list = a->kind == MT_ARG_TENSORS ? a->v.tensors.data : &a->v.tensor;
        int n = a->kind == MT_ARG_TENSORS ? a->v.tensors.n : a->kind == MT_ARG_TENSOR;

        for (int j = 0; j < n; j++)
            if (list[j] && mt_autocast_is_on(list[j]->device.type) && list[j]->device.type > device)
                device = list[j]->device.type;
    }
    return device;
}

static int run(mt_call *call)
{
    mt_autocast_state *s = mt_autocast();
    casts c = {.device = device_of(call), .state = s};
    mt_autocast_policy policy;
    uint32_t exclude = mt_thread.exclude;
    int rc;

    if (c.device < 0 || c.device > MT_DEVICE_CUDA)
        return 1;
    policy = (mt_autocast_policy)call->op->autocast[c.device];
    if (policy == MT_AUTOCAST_NONE)
        return 1;
    if (policy == MT_AUTOCAST_BANNED)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "%s is unsafe to autocast: its logarithms lose too much in a lower dtype; use %s_with_logits",
            call->op->name, call->op->name);
    memcpy(c.arg, call->arg, sizeof(c.arg[0]) * call->n_args);
    mt_thread.exclude |= MT_KEYS_AUTOCAST;
    rc = cast_all(call, &c, policy);
    if (rc == 0)
        rc = mt_dispatch(call);
    mt_thread.exclude = exclude;
    memcpy(call->arg, c.arg, sizeof(c.arg[0]) * call->n_args);
    for (int i = 0; i < c.n_owned; i++)
        mt_tensor_unref(c.owned[i]);
    mt_free(c.owned);
    for (int i = 0; i < call->n_args; i++)
        mt_free(c.list[i]);
    return rc < 0 ? -1 : 0;
}

void mt_autocast_set(int device_type, bool on)
{
    uint32_t bit = (uint32_t)1 << device_type;

    mt_autocast_dispatch = run;
    mt_thread.autocast = on ? mt_thread.autocast | bit : mt_thread.autocast & ~bit;
    mt_thread.include =
        mt_thread.autocast ? mt_thread.include | MT_KEYS_AUTOCAST : mt_thread.include & ~MT_KEYS_AUTOCAST;
}
