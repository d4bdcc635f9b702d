/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernels of pooling ops: tensors of three or four dims become planes. Half types are computed in float32, small
   integers in int64; the greatest element of a window is found exactly either way. Indices that a gradient is given are
   checked before anything is written. */
#include "cpu/pool.h"

#include <string.h>

#include "base/parallel.h"
#include "core/op.h"

static const mt_pool_kernels *kernels(void)
{
#if defined(__x86_64__)
    return mt_cpu_isa() == MT_ISA_V4   ? &mt_pool_kernels_v4
           : mt_cpu_isa() == MT_ISA_V3 ? &mt_pool_kernels_v3
                                       : &mt_pool_kernels_v2;
#else
    return &mt_pool_kernels_v2;
#endif
}

/* --- planes --- */

static mt_pool_side side_of(const mt_tensor *t)
{
    int n = t->ndim;
    mt_pool_side s = {(char *)(uintptr_t)mt_tensor_const_data(t),
                      n == 4 ? t->stride[0] : 0,
                      t->stride[n - 3],
                      {t->stride[n - 2], t->stride[n - 1]},
                      {t->size[n - 2], t->size[n - 1]}};

    return s;
}

static void pair(int64_t out[2], mt_ints list, const int64_t *missing)
{
    for (int i = 0; i < 2; i++)
        out[i] = list.n <= 0 ? missing[i] : list.data[list.n == 1 ? 0 : i];
}

/* in: the larger side, out: the pooled one. */
static mt_pool pool_of(const mt_tensor *in, const mt_tensor *out)
{
    mt_pool p = {.dtype = (mt_dtype)in->dtype,
                 .channels = in->size[in->ndim - 3],
                 .in = side_of(in),
                 .out = side_of(out),
                 .kernel = {1, 1},
                 .stride = {1, 1},
                 .dilation = {1, 1}};

    return p;
}

static void set_windows(mt_pool *p, mt_ints kernel_size, mt_ints stride, mt_ints padding, mt_ints dilation)
{
    static const int64_t ones[2] = {1, 1}, zeros[2] = {0, 0};

    pair(p->kernel, kernel_size, ones);
    pair(p->stride, stride, p->kernel);
    pair(p->pad, padding, zeros);
    pair(p->dilation, dilation, ones);
}

static int64_t planes_of(const mt_tensor *t)
{
    return t->ndim == 4 ? t->size[0] * t->size[1] : t->size[0];
}

/* --- running --- */

typedef struct job {
    const mt_pool *p;
    mt_pool_fn *run;
} job;

static void run_range(void *ctx, int64_t begin, int64_t end)
{
    const job *j = ctx;

    j->run(j->p, begin, end);
}

static void run_planes(const mt_pool *p, mt_pool_fn *run, int64_t planes, double ns_per_element)
{
    job j = {p, run};
    double window = (double)p->kernel[0] * (double)p->kernel[1];

    mt_parallel_for(planes, 10.0 + ns_per_element * window * (double)p->out.size[0] * (double)p->out.size[1], 1,
                    run_range, &j);
}

/* The dtype in which t is computed. */
static mt_dtype compute_dtype(const mt_tensor *t)
{
    if (t->dtype == MT_DTYPE_f16 || t->dtype == MT_DTYPE_bf16)
        return MT_DTYPE_f32;
    return mt_dtype_is_float((mt_dtype)t->dtype) ? (mt_dtype)t->dtype : MT_DTYPE_i64;
}

/* t itself, or a copy of the other dtype in the same memory order (filled, or left empty). */
static int converted(mt_tensor **out, mt_tensor *t, mt_dtype dtype, bool filled)
{
    *out = NULL;
    if (t->dtype == (uint8_t)dtype) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    if (mt_tensor_new_like(out, t, dtype) < 0)
        return -1;
    if (filled && mt_tensor_assign(*out, t) < 0)
        mt_tensor_clear(out);
    return *out ? 0 : -1;
}

/* Calls body(p, context) on operands of the compute dtype, then brings the written one back. */
typedef struct sides {
    mt_tensor *read, *written, *temporary_read, *temporary_written;
} sides;

static int open_sides(sides *s, mt_tensor *read, mt_tensor *written)
{
    mt_dtype dtype = compute_dtype(read);

    s->read = read;
    s->written = written;
    s->temporary_written = NULL;
    if (converted(&s->temporary_read, read, dtype, true) < 0)
        return -1;
    if (converted(&s->temporary_written, written, dtype, false) < 0) {
        mt_tensor_clear(&s->temporary_read);
        return -1;
    }
    mt_storage_pin(s->temporary_read->storage);
    mt_storage_pin(s->temporary_written->storage);
    return 0;
}

static int close_sides(sides *s)
{
    int rc = 0;

    mt_storage_unpin(s->temporary_read->storage);
    mt_storage_unpin(s->temporary_written->storage);
    if (s->temporary_written != s->written)
        rc = mt_tensor_assign(s->written, s->temporary_written);
    mt_tensor_clear(&s->temporary_read);
    mt_tensor_clear(&s->temporary_written);
    return rc;
}

static void zero(mt_tensor *t)
{
    memset(mt_tensor_mutable_data(t), 0, (size_t)t->numel * mt_tensor_itemsize(t));
}

/* --- max --- */

int mt_cpu_max_pool2d_with_indices(mt_tensor *out0, mt_tensor *out1, mt_tensor *self, mt_ints kernel_size,
                                   mt_ints stride, mt_ints padding, mt_ints dilation, bool ceil_mode)
{
    mt_pool p;
    sides s;

    (void)ceil_mode;
    if (out0->numel == 0)
        return 0;
    if (open_sides(&s, self, out0) < 0)
        return -1;
    p = pool_of(s.temporary_read, s.temporary_written);
    p.index = side_of(out1);
    p.index.data = mt_tensor_mutable_data(out1);
    p.out.data = mt_tensor_mutable_data(s.temporary_written);
    set_windows(&p, kernel_size, stride, padding, dilation);
    mt_storage_pin(out1->storage);
    run_planes(&p, kernels()->max[p.dtype], planes_of(self), 0.5);
    mt_storage_unpin(out1->storage);
    return close_sides(&s);
}

/* All indices lie in the plane of `size` elements. */
static int check_indices(const mt_tensor *index, int64_t size)
{
    const int64_t *data = (const int64_t *)mt_tensor_const_data(index);
    bool bad = false;

    for (int64_t i = 0; i < index->numel; i++)
        bad |= data[i] < 0 || data[i] >= size;
    if (bad)
        return mt_error_set(MT_ERR_RUNTIME, "max_pool2d_with_indices_backward: found an invalid max index");
    return 0;
}

int mt_cpu_max_pool2d_with_indices_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *self,
                                            mt_ints kernel_size, mt_ints stride, mt_ints padding, mt_ints dilation,
                                            bool ceil_mode, mt_tensor *indices)
{
    mt_tensor *dense = NULL;
    mt_pool p;
    sides s;
    int rc = -1;

    (void)ceil_mode;
    MT_TRY(mt_arg_contiguous(&dense, indices));
    MT_TRY(check_indices(dense, self->size[self->ndim - 2] * self->size[self->ndim - 1]));
    MT_TRY(open_sides(&s, grad_output, out));
    zero(s.temporary_written);
    p = pool_of(s.temporary_written, s.temporary_read);
    p.in.data = mt_tensor_mutable_data(s.temporary_written);
    p.index = side_of(dense);
    set_windows(&p, kernel_size, stride, padding, dilation);
    p.kernel[0] = p.kernel[1] = 1; /* one element per window is touched */
    if (grad_output->numel > 0)
        run_planes(&p, kernels()->max_backward[p.dtype], planes_of(self), 1.0);
    rc = close_sides(&s);
fail:
    mt_tensor_clear(&dense);
    return rc;
}

/* --- mean --- */

static int run_mean(mt_tensor *read, mt_tensor *written, mt_ints kernel_size, mt_ints stride, mt_ints padding,
                    bool count_include_pad, const int64_t *divisor, bool backward)
{
    mt_pool p;
    sides s;

    if (open_sides(&s, read, written) < 0)
        return -1;
    if (backward)
        zero(s.temporary_written);
    p = backward ? pool_of(s.temporary_written, s.temporary_read) : pool_of(s.temporary_read, s.temporary_written);
    *(backward ? &p.in.data : &p.out.data) = mt_tensor_mutable_data(s.temporary_written);
    set_windows(&p, kernel_size, stride, padding, (mt_ints){NULL, 0});
    p.count_include_pad = count_include_pad;
    p.divisor = divisor ? *divisor : 0;
    if (read->numel > 0 && written->numel > 0)
        run_planes(&p, backward ? kernels()->mean_backward[p.dtype] : kernels()->mean[p.dtype], planes_of(read), 0.5);
    return close_sides(&s);
}

int mt_cpu_avg_pool2d(mt_tensor *out, mt_tensor *self, mt_ints kernel_size, mt_ints stride, mt_ints padding,
                      bool ceil_mode, bool count_include_pad, const int64_t *divisor_override)
{
    (void)ceil_mode;
    return run_mean(self, out, kernel_size, stride, padding, count_include_pad, divisor_override, false);
}

int mt_cpu_avg_pool2d_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *self, mt_ints kernel_size,
                               mt_ints stride, mt_ints padding, bool ceil_mode, bool count_include_pad,
                               const int64_t *divisor_override)
{
    (void)self, (void)ceil_mode;
    return run_mean(grad_output, out, kernel_size, stride, padding, count_include_pad, divisor_override, true);
}

/* --- windows by count --- */

static int run_adaptive(mt_tensor *read, mt_tensor *written, bool backward)
{
    mt_pool p;
    sides s;

    if (open_sides(&s, read, written) < 0)
        return -1;
    if (backward)
        zero(s.temporary_written);
    p = backward ? pool_of(s.temporary_written, s.temporary_read) : pool_of(s.temporary_read, s.temporary_written);
    *(backward ? &p.in.data : &p.out.data) = mt_tensor_mutable_data(s.temporary_written);
    if (read->numel > 0 && written->numel > 0) {
        for (int d = 0; d < 2; d++)
            p.kernel[d] = p.in.size[d] / p.out.size[d] + 1;
        run_planes(&p, backward ? kernels()->adaptive_backward[p.dtype] : kernels()->adaptive[p.dtype], planes_of(read),
                   0.5);
    }
    return close_sides(&s);
}

int mt_cpu_adaptive_avg_pool2d(mt_tensor *out, mt_tensor *self, mt_ints output_size)
{
    (void)output_size;
    return run_adaptive(self, out, false);
}

int mt_cpu_adaptive_avg_pool2d_backward(mt_tensor *out, mt_tensor *grad_output, mt_tensor *self)
{
    (void)self;
    return run_adaptive(grad_output, out, true);
}
