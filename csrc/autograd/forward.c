/* SPDX-License-Identifier: BSD-3-Clause */
/* Tangents: where they are kept and how a tensor gets one. The tensors of the level are a list, so that leaving the
   level finds them all. A tangent is always laid out like its tensor, hence a view of the tensor has the same view of
   the tangent: changes through one are seen by the other. forward_jvp.c computes them. */
#include "autograd/autograd_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "core/formula.h"
#include "core/shape.h"
#include "ops.h"

typedef struct mt_dual {
    mt_tensor *tangent;
    mt_tensor *owner; /* borrowed: its metadata owns this */
    struct mt_dual *next, **link;
} mt_dual;

static mt_dual *duals;
static int64_t current_level = -1;

/* --- the level --- */

static void unlink_dual(mt_dual *d)
{
    *d->link = d->next;
    if (d->next)
        d->next->link = d->link;
}

void mt_dual_free(mt_dual *d)
{
    mt_tensor *tangent = d->tangent;

    unlink_dual(d);
    mt_free(d);
    mt_tensor_unref(tangent);
}

void mt_forward_drop(mt_tensor *t)
{
    mt_dual *d = t->autograd->dual;

    t->autograd->dual = NULL;
    t->keys &= (uint16_t)~MT_KEYS_DUAL;
    mt_dual_free(d);
}

int mt_forward_enter(int64_t *level)
{
    if (current_level >= 0)
        return mt_error_set(MT_ERR_RUNTIME, "Nested forward mode AD is not supported at the moment");
    *level = current_level = 0;
    return 0;
}

int mt_forward_exit(int64_t level)
{
    if (current_level < 0)
        return mt_error_set(MT_ERR_RUNTIME, "Trying to exit a forward AD level but no level is entered");
    if (level != current_level)
        return mt_error_set(MT_ERR_RUNTIME,
                            "Trying to exit a forward AD level that was not the last one that was created. "
                            "This is not supported.");
    current_level = -1;
    while (duals)
        mt_forward_drop(duals->owner);
    return 0;
}

int64_t mt_forward_level(void)
{
    return current_level;
}

void mt_forward_set_enabled(bool on)
{
    if (on)
        mt_thread.exclude &= ~MT_KEYS_DUAL;
    else
        mt_thread.exclude |= MT_KEYS_DUAL;
}

/* --- layout --- */

static bool same_layout(const mt_tensor *a, const mt_tensor *b)
{
    enum { LAZY = MT_FLAG_CONJ | MT_FLAG_NEG };

    for (int i = 0; i < a->ndim; i++)
        if (a->stride[i] != b->stride[i] && a->size[i] > 1)
            return false;
    return !((a->flags ^ b->flags) & LAZY);
}

/* Whether views of t fit into memory that was made like t: no element of it lies between those of t, none twice. */
static bool can_be_laid_out_like(const mt_tensor *t)
{
    return (t->flags & MT_FLAG_DENSE) != 0 && !(t->flags & (MT_FLAG_CONJ | MT_FLAG_NEG));
}

/* *tangent laid out like t, unless t has no dense layout. */
static int lay_out(mt_tensor **tangent, mt_tensor *t)
{
    mt_tensor *copy = NULL;
    int rc = -1;

    if (same_layout(*tangent, t) || !can_be_laid_out_like(t))
        return 0;
    MT_TRY(mt_tensor_new_strided(&copy, (mt_dtype)(*tangent)->dtype, t->ndim, t->size, t->stride, (*tangent)->device));
    MT_TRY(mt_copy_inplace(copy, *tangent, false));
    mt_tensor_unref(*tangent);
    *tangent = mt_tensor_move(&copy);
    rc = 0;
fail:
    mt_tensor_clear(&copy);
    return rc;
}

/* --- reading and setting --- */

static mt_tensor *own_tangent(const mt_tensor *t)
{
    return t->autograd && t->autograd->dual ? t->autograd->dual->tangent : NULL;
}

/* To be called with tangents paused. */
static int tangent_of_base(mt_tensor **out, mt_tensor *t)
{
    mt_geometry view = mt_geometry_of(t);
    mt_grad_scope scope = mt_grad_scope_enter(mt_thread.grad_mode);
    int rc = mt_view_replay(out, own_tangent(t->base), t->base->offset, &view);

    mt_grad_scope_leave(scope);
    return rc;
}

static int attach(mt_tensor *t, mt_tensor **tangent)
{
    mt_autograd *m;
    mt_dual *d;
    void *block;

    if (mt_autograd_meta(&m, t) < 0)
        return -1;
    if (mt_malloc(&block, sizeof(*d)) < 0)
        return -1;
    if (m->dual)
        mt_forward_drop(t);
    d = block;
    *d = (mt_dual){mt_tensor_move(tangent), t, duals, &duals};
    if (duals)
        duals->link = &d->next;
    duals = d;
    m->dual = d;
    t->keys |= MT_KEYS_DUAL;
    return 0;
}

int mt_forward_tangent(mt_tensor **out, mt_tensor *t)
{
    int rc = -1;

    *out = NULL;
    if (current_level < 0)
        return 0;
    if (own_tangent(t)) {
        *out = mt_tensor_ref(own_tangent(t));
        return 0;
    }
    if (!t->base || !own_tangent(t->base) || (t->autograd && t->autograd->only_primal))
        return 0;
    MT_TRY(tangent_of_base(out, t));
    if (*out) {
        mt_tensor *kept = mt_tensor_ref(*out);

        rc = attach(t, &kept);
        mt_tensor_clear(&kept);
        if (rc < 0)
            mt_tensor_clear(out);
        return rc;
    }
    rc = 0;
fail:
    return rc;
}

int mt_forward_set(mt_tensor *t, mt_tensor **tangent)
{
    if (current_level < 0) /* left during the call */
        return 0;
    return lay_out(tangent, t) < 0 ? -1 : attach(t, tangent);
}

/* The base of a view that was written gets a tangent, zeros but for the view. */
static int give_base_tangent(mt_tensor *base)
{
    mt_tensor *zeros = NULL;
    int rc = -1;

    if (own_tangent(base))
        return 0;
    MT_TRY(mt_tensor_new_like(&zeros, base, (mt_dtype)base->dtype));
    MT_TRY(mt_zero_inplace(zeros));
    MT_TRY(attach(base, &zeros));
    rc = 0;
fail:
    mt_tensor_clear(&zeros);
    return rc;
}

/* An op that wrote expanded memory gave elements that share it one value: what it gave all of them is written once. */
static int write_expanded(mt_tensor *old, mt_tensor *tangent)
{
    mt_tensor *part = NULL, *value = NULL, *all = NULL;
    bool same = false;
    int rc = -1;

    part = mt_tensor_ref(old);
    value = mt_tensor_ref(tangent);
    for (int i = 0; i < old->ndim; i++) {
        mt_tensor *less = NULL;

        if (old->stride[i] || old->size[i] < 2)
            continue;
        MT_TRY(mt_narrow(&less, part, i, 0, 1));
        mt_tensor_unref(part);
        part = less;
        MT_TRY(mt_narrow(&less, value, i, 0, 1));
        mt_tensor_unref(value);
        value = less;
    }
    MT_TRY(mt_expand(&all, value, mt_sizes_of(tangent), false));
    MT_TRY(mt_equal(&same, all, tangent));
    rc = mt_copy_inplace(same ? part : old, same ? value : tangent, false);
fail:
    mt_tensor_clear(&part);
    mt_tensor_clear(&value);
    mt_tensor_clear(&all);
    return rc;
}

int mt_forward_update(mt_tensor *t, mt_tensor **tangent)
{
    mt_tensor *old = NULL;
    int rc = -1;

    if (current_level < 0)
        return 0;
    if (!own_tangent(t) && t->base && (t->base->flags & MT_FLAG_DENSE))
        MT_TRY(give_base_tangent(t->base));
    MT_TRY(mt_forward_tangent(&old, t));
    if (!old)
        return mt_forward_set(t, tangent);
    rc = mt_overlap_internal(old) == MT_OVERLAP_YES ? write_expanded(old, *tangent)
                                                    : mt_copy_inplace(old, *tangent, false);
fail:
    mt_tensor_clear(&old);
    return rc;
}

/* --- dual tensors --- */

static int check_tangent(const mt_tensor *primal, const mt_tensor *tangent)
{
    mt_shape_text have, given;
    int rc = -1;

    MT_REQUIRE(mt_shape_equal(primal->ndim, primal->size, tangent->ndim, tangent->size), MT_ERR_RUNTIME,
               "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
               "not supported. Tensor is of size %s while the given forward gradient is of size %s.",
               mt_shape_format(&have, primal->size, primal->ndim),
               mt_shape_format(&given, tangent->size, tangent->ndim));
    rc = 0;
fail:
    return rc;
}

int mt_forward_make_dual(mt_tensor **out, mt_tensor *primal, mt_tensor *tangent, int64_t level)
{
    uint32_t exclude = mt_forward_pause();
    mt_tensor *dual = NULL, *old = NULL, *kept = NULL;
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(level == current_level && level >= 0, MT_ERR_RUNTIME, "Invalid level given to _make_dual");
    MT_TRY(mt_forward_tangent(&old, primal));
    MT_REQUIRE(!old, MT_ERR_RUNTIME,
               "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level %lld is "
               "not supported.",
               (long long)level);
    MT_TRY(mt_forward_tangent(&kept, tangent));
    MT_REQUIRE(!kept, MT_ERR_RUNTIME,
               "Setting a forward grad that itself has a forward gradient at the same level %lld is not supported.",
               (long long)level);
    MT_TRY(check_tangent(primal, tangent));
    MT_TRY(mt_view(&dual, primal, mt_sizes_of(primal)));
    kept = mt_tensor_ref(tangent);
    MT_TRY(mt_forward_set(dual, &kept));
    *out = mt_tensor_move(&dual);
    rc = 0;
fail:
    mt_thread.exclude = exclude;
    mt_tensor_clear(&dual);
    mt_tensor_clear(&old);
    mt_tensor_clear(&kept);
    return rc;
}

int mt_forward_unpack(mt_tensor **primal, mt_tensor **tangent, mt_tensor *dual, int64_t level)
{
    uint32_t exclude = mt_forward_pause();
    mt_autograd *m;
    int rc = -1;

    *primal = *tangent = NULL;
    MT_REQUIRE(level == 0 || !(dual->keys & MT_KEYS_DUAL), MT_ERR_RUNTIME, "Invalid level given to _fw_primal");
    if (!(exclude & MT_KEYS_DUAL)) /* else this thread does not look at tangents */
        MT_TRY(mt_forward_tangent(tangent, dual));
    MT_TRY(mt_view(primal, dual, mt_sizes_of(dual)));
    MT_TRY(mt_autograd_meta(&m, *primal));
    m->only_primal = 1;
    rc = 0;
fail:
    mt_thread.exclude = exclude;
    if (rc < 0) {
        mt_tensor_clear(primal);
        mt_tensor_clear(tangent);
    }
    return rc;
}

/* --- the ops of the catalog --- */

int mt_impl_make_dual(mt_tensor **out, mt_tensor *primal, mt_tensor *tangent, int64_t level)
{
    return mt_forward_make_dual(out, primal, tangent, level);
}

int mt_impl_unpack_dual(mt_tensor **primal, mt_tensor **tangent, mt_tensor *dual, int64_t level)
{
    return mt_forward_unpack(primal, tangent, dual, level);
}
