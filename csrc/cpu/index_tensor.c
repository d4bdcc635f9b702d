/* SPDX-License-Identifier: BSD-3-Clause */
/* Advanced indexing with integer tensors, read and written. One index tensor is used as it is; several are first turned
   into one tensor of byte offsets over their broadcast shape, bounds checked on the way. Messages number the dims as PyTorch
   does: by the order of the index tensors. */
#include <string.h>

#include "core/index_plan.h"
#include "core/iter.h"
#include "core/shape.h"
#include "cpu/assign.h"
#include "cpu/index_move.h"
#include "kernels.h"

static int widen(mt_tensor **wide, const mt_tensor *index)
{
    if (mt_tensor_new(wide, MT_DTYPE_i64, index->ndim, index->size, index->device) < 0)
        return -1;
    return mt_cpu_assign(*wide, index);
}

/* --- several indices --- */

typedef struct offset_step {
    int64_t limit, step;
} offset_step;

/* data: offsets, index */
static void add_offsets(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    const offset_step *s = params;

    for (int64_t i = 0; i < n; i++) {
        int64_t *sum = (int64_t *)(void *)(data[0] + i * stride[0]);
        int64_t v = *(const int64_t *)(const void *)(data[1] + i * stride[1]);

        *sum += (v + (v < 0 ? s->limit : 0)) * s->step;
    }
}

/* Byte offsets of all indices together. */
static int combine(mt_tensor **out, const mt_index_plan *p, const mt_tensor *self)
{
    const int64_t *size = p->size + p->first;
    mt_tensor *sum = NULL, *wide = NULL;
    int rc = -1;

    MT_TRY(mt_tensor_new_zeroed(&sum, MT_DTYPE_i64, p->n_index_dims, size, self->device));
    for (int k = 0; k < p->n_index; k++) {
        offset_step step = {self->size[p->dim[k]], self->stride[p->dim[k]] * (int64_t)mt_tensor_itemsize(self)};
        mt_tensor *index = (mt_tensor *)(uintptr_t)p->index[k];
        int64_t bad;
        mt_iter it;

        if (index->dtype != MT_DTYPE_i64) {
            MT_TRY(widen(&wide, index));
            index = wide;
        }
        if (sum->numel > 0 && !mt_index_in_range(&bad, index, step.limit, step.limit)) {
            mt_index_error(MT_INDEX_OF_DIM, bad, k, step.limit);
            goto fail;
        }
        MT_TRY(mt_iter_build(&it, (mt_tensor *[]){sum, index}, 2, 1, p->n_index_dims, size));
        mt_iter_run(&it, add_offsets, &step, NULL, 0.8);
        mt_tensor_clear(&wide);
    }
    *out = mt_tensor_move(&sum);
    rc = 0;
fail:
    mt_tensor_clear(&sum);
    mt_tensor_clear(&wide);
    return rc;
}

/* --- jobs --- */

/* The job of a plan; *owned keeps an index tensor that was made for it. */
static int make_job(mt_index_job *job, mt_tensor **owned, const mt_index_plan *p, const mt_tensor *target, char *data)
{
    int64_t itemsize = (int64_t)mt_tensor_itemsize(target);
    const mt_tensor *index = p->index[0];
    mt_index_plan one;

    job->ndim = p->ndim;
    job->itemsize = (int)itemsize;
    job->target = data;
    job->params.fault = NULL;
    if (p->n_index == 1) {
        job->params.limit = job->params.wrap = target->size[p->dim[0]];
        job->params.step = target->stride[p->dim[0]] * itemsize;
        if (index->dtype != MT_DTYPE_i64) {
            if (widen(owned, index) < 0)
                return -1;
            index = *owned;
        }
    } else {
        job->params.limit = job->params.wrap = 0;
        job->params.step = 1;
        if (combine(owned, p, target) < 0)
            return -1;
        index = *owned;
    }
    one.ndim = p->ndim;
    one.first = p->first;
    one.n_index_dims = p->n_index_dims;
    one.index[0] = index;
    mt_index_plan_strides(job->index_stride, &one, 0);
    job->index = mt_tensor_const_data(index);
    for (int i = 0; i < p->ndim; i++) {
        job->size[i] = p->size[i];
        job->target_stride[i] = p->stride[i] * itemsize;
        job->index_stride[i] *= (int64_t)sizeof(int64_t);
        job->is_indexed[i] = i >= p->first && i < p->first + p->n_index_dims;
    }
    return 0;
}

/* Byte strides of t, which broadcasts to the job. */
static void set_other(mt_index_job *job, const mt_tensor *t, char *data)
{
    int pad = job->ndim - t->ndim;

    job->other = data;
    for (int i = 0; i < job->ndim; i++)
        job->other_stride[i] = i < pad || t->size[i - pad] == 1 ? 0 : t->stride[i - pad] * job->itemsize;
}

static bool has_elements(const mt_index_job *job)
{
    for (int i = 0; i < job->ndim; i++)
        if (job->size[i] == 0)
            return false;
    return true;
}

/* --- the kernels --- */

int mt_cpu_index(mt_tensor *out, mt_tensor *self, mt_tensors indices)
{
    mt_tensor *owned = NULL;
    mt_index_fault fault = {false, 0};
    mt_index_plan plan;
    mt_index_job job;
    int rc = -1;

    MT_TRY(mt_index_plan_make(&plan, self, indices));
    MT_TRY(make_job(&job, &owned, &plan, self, (char *)(uintptr_t)mt_tensor_const_data(self)));
    set_other(&job, out, mt_tensor_mutable_data(out));
    job.params.fault = plan.n_index == 1 ? &fault : NULL;
    mt_index_read(&job);
    if (fault.found) {
        mt_index_error(MT_INDEX_OF_DIM, fault.index, 0, job.params.limit);
        goto fail;
    }
    rc = 0;
fail:
    mt_tensor_clear(&owned);
    return rc;
}

int mt_cpu_index_put(mt_tensor *self, mt_tensors indices, mt_tensor *values, bool accumulate)
{
    mt_tensor *owned = NULL;
    mt_index_plan plan;
    mt_index_job job;
    int64_t bad;
    int rc = -1;

    MT_TRY(mt_index_plan_make(&plan, self, indices));
    MT_TRY(make_job(&job, &owned, &plan, self, mt_tensor_mutable_data(self)));
    if (has_elements(&job)) {
        if (plan.n_index == 1 &&
            !mt_index_in_range(&bad, owned ? owned : plan.index[0], job.params.limit, job.params.wrap)) {
            mt_index_error(MT_INDEX_OF_DIM, bad, 0, job.params.limit);
            goto fail;
        }
        set_other(&job, values, (char *)(uintptr_t)mt_tensor_const_data(values));
        MT_TRY(mt_index_set_alpha(&job.params, (mt_dtype)self->dtype, mt_scalar_from_int(1)));
        mt_index_write(&job, accumulate ? mt_index_loop(MT_INDEX_ADD, (mt_dtype)self->dtype) : NULL, 2.0);
    }
    rc = 0;
fail:
    mt_tensor_clear(&owned);
    return rc;
}
