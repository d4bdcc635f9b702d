/* SPDX-License-Identifier: BSD-3-Clause */
/* batch_norm: statistics of channels. Two layouts: planes (pixels of one image and channel are contiguous, channels are
   dealt out to threads) and columns (channels lie side by side, blocks of columns are dealt out). Anything else is copied.
   Results are a (x - mean) + b per channel, gradients
   a g + b (x - mean) + c. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "cpu/norm_op.h"

typedef struct batch {
    const mt_norm_kernels *k;
    const mt_norm_frame *f;
    int64_t images, channels, pixels; /* in planes; columns have images * pixels rows */
    bool columns;
    int64_t row_step, grad_step;      /* elements between rows of columns */
    const char *x, *grad;
    char *y;
    double *mean, *a, *b, *c;         /* one per channel; sums first, then the factors */
} batch;

/* --- layout --- */

/* All images and pixels of a channel, as rows of a matrix whose columns are the channels. */
static bool is_columns(const mt_tensor *t, int64_t *step)
{
    int64_t expected = 0;

    if (t->ndim < 2 || (t->stride[1] != 1 && t->size[1] != 1))
        return false;
    *step = t->size[1];
    for (int i = t->ndim - 1; i >= 0; i--) {
        if (i == 1 || t->size[i] == 1)
            continue;
        if (expected == 0)
            *step = expected = t->stride[i];
        if (t->stride[i] != expected)
            return false;
        expected *= t->size[i];
    }
    return *step >= t->size[1];
}

static void set_layout(batch *s, const mt_tensor *input)
{
    s->images = input->size[0];
    s->channels = input->size[1];
    s->pixels = 1;
    for (int i = 2; i < input->ndim; i++)
        s->pixels *= input->size[i];
    s->columns = s->pixels == 1 && (input->flags & MT_FLAG_CONTIGUOUS);
    s->row_step = s->grad_step = s->channels;
}

static int64_t count(const batch *s)
{
    return s->images * s->pixels;
}

static const char *plane(const batch *s, const char *data, int64_t image, int64_t channel)
{
    return data + (image * s->channels + channel) * s->pixels * s->f->itemsize;
}

/* --- passes over all channels --- */

typedef void channel_fn(batch *s, int64_t channel);            /* planes */
typedef void column_fn(batch *s, int64_t first, int64_t n);    /* columns, at most MT_NORM_COLUMNS */

typedef struct pass {
    batch *s;
    channel_fn *by_channel;
    column_fn *by_column;
} pass;

static void pass_channels(void *ctx, int64_t begin, int64_t end)
{
    const pass *p = ctx;

    for (int64_t c = begin; c < end; c++)
        p->by_channel(p->s, c);
}

static void pass_columns(void *ctx, int64_t begin, int64_t end)
{
    const pass *p = ctx;

    for (int64_t c = begin; c < end; c += MT_NORM_COLUMNS)
        p->by_column(p->s, c, end - c < MT_NORM_COLUMNS ? end - c : MT_NORM_COLUMNS);
}

static void run_pass(batch *s, channel_fn *by_channel, column_fn *by_column)
{
    pass p = {s, by_channel, by_column};
    double ns = 20.0 + 0.3 * (double)count(s);

    mt_parallel_for(s->channels, ns, s->columns ? 16 : 1, s->columns ? pass_columns : pass_channels, &p);
}

/* b: mean squares of the deviations */
static void moments_of_channel(batch *s, int64_t c)
{
    double sum = 0, squares = 0;

    for (int64_t i = 0; i < s->images; i++)
        sum += s->k->sum(plane(s, s->x, i, c), s->pixels);
    s->mean[c] = sum / (double)count(s);
    for (int64_t i = 0; i < s->images; i++)
        squares += s->k->square_sum(plane(s, s->x, i, c), s->pixels, s->mean[c]);
    s->b[c] = squares / (double)count(s);
}

static void moments_of_columns(batch *s, int64_t first, int64_t n)
{
    const char *x = s->x + first * s->f->itemsize;

    for (int64_t i = 0; i < n; i++)
        s->mean[first + i] = s->b[first + i] = 0;
    s->k->column_sum(s->mean + first, x, count(s), s->row_step, n);
    for (int64_t i = 0; i < n; i++)
        s->mean[first + i] /= (double)count(s);
    s->k->column_square_sum(s->b + first, x, count(s), s->row_step, n, s->mean + first);
    for (int64_t i = 0; i < n; i++)
        s->b[first + i] /= (double)count(s);
}

static void scale_channel(batch *s, int64_t c)
{
    for (int64_t i = 0; i < s->images; i++)
        s->k->scale((char *)(uintptr_t)plane(s, s->y, i, c), plane(s, s->x, i, c), s->pixels, s->mean[c],
                    s->a[c], s->b[c]);
}

static void scale_columns(batch *s, int64_t first, int64_t n)
{
    int64_t at = first * s->f->itemsize;

    s->k->column_scale(s->y + at, s->channels, s->x + at, s->row_step, count(s), n, s->mean + first,
                       s->a + first, s->b + first);
}

/* a: sums of g; b: sums of g (x - mean) */
static void pairs_of_channel(batch *s, int64_t c)
{
    s->a[c] = s->b[c] = 0;
    for (int64_t i = 0; i < s->images; i++) {
        double sums[2];

        s->k->pair_sum(sums, plane(s, s->grad, i, c), plane(s, s->x, i, c), s->pixels, s->mean[c]);
        s->a[c] += sums[0];
        s->b[c] += sums[1];
    }
}

static void pairs_of_columns(batch *s, int64_t first, int64_t n)
{
    int64_t at = first * s->f->itemsize;

    for (int64_t i = 0; i < n; i++)
        s->a[first + i] = s->b[first + i] = 0;
    s->k->column_pair_sum(s->a + first, s->b + first, s->grad + at, s->grad_step, s->x + at, s->row_step, count(s), n,
                          s->mean + first);
}

static void combine_channel(batch *s, int64_t c)
{
    for (int64_t i = 0; i < s->images; i++)
        s->k->combine((char *)(uintptr_t)plane(s, s->y, i, c), plane(s, s->grad, i, c), plane(s, s->x, i, c), s->pixels,
                      s->mean[c], s->a[c], s->b[c], s->c[c]);
}

static void combine_columns(batch *s, int64_t first, int64_t n)
{
    int64_t at = first * s->f->itemsize;

    s->k->column_combine(s->y + at, s->channels, s->grad + at, s->grad_step, s->x + at, s->row_step, count(s), n,
                         s->mean + first, s->a + first, s->b + first, s->c + first);
}

/* --- forward --- */

typedef struct forward {
    const char *weight, *bias;
    char *running_mean, *running_var, *save_mean, *save_invstd;
    bool training;
    double momentum, eps;
} forward;

static double or_else(const mt_norm_frame *f, const char *list, int64_t i, double missing)
{
    return list ? mt_norm_get(f, list, i) : missing;
}

static void update_running(const batch *s, const forward *w, int64_t c, double mean, double var)
{
    double n = (double)count(s);

    if (w->running_mean)
        mt_norm_put(s->f, w->running_mean, c,
                    w->momentum * mean + (1.0 - w->momentum) * mt_norm_get(s->f, w->running_mean, c));
    if (w->running_var)
        mt_norm_put(s->f, w->running_var, c,
                    w->momentum * (var * n / (n - 1.0)) + (1.0 - w->momentum) * mt_norm_get(s->f, w->running_var, c));
}

static void run_forward(batch *s, const forward *w)
{
    if (w->training)
        run_pass(s, moments_of_channel, moments_of_columns);
    for (int64_t c = 0; c < s->channels; c++) {
        double mean = w->training ? s->mean[c] : mt_norm_get(s->f, w->running_mean, c);
        double var = w->training ? s->b[c] : mt_norm_get(s->f, w->running_var, c), invstd = 1.0 / sqrt(var + w->eps);
        double factor = invstd * or_else(s->f, w->weight, c, 1.0);

        if (w->training) {
            mt_norm_put(s->f, w->save_mean, c, mean);
            mt_norm_put(s->f, w->save_invstd, c, invstd);
            if (count(s) > 0)
                update_running(s, w, c, mean, var);
        }
        s->mean[c] = mean;
        s->a[c] = factor;
        s->b[c] = or_else(s->f, w->bias, c, 0.0);
    }
    run_pass(s, scale_channel, scale_columns);
}

static int new_factors(batch *s, void **memory)
{
    size_t n = (size_t)(s->channels ? s->channels : 1);

    if (mt_calloc(memory, 4 * n, sizeof(double)) < 0)
        return -1;
    s->mean = *memory;
    s->a = s->mean + n;
    s->b = s->a + n;
    s->c = s->b + n;
    return 0;
}

/* Channels-last operands are used as they lie when the result has the same layout. */
static bool shares_columns(batch *s, mt_tensor *input, mt_tensor *result, mt_tensor *grad)
{
    int64_t step;

    if (s->columns || input->dtype != (uint8_t)s->f->dtype || s->channels < 4)
        return false;
    if (!is_columns(input, &s->row_step) || (result && (!is_columns(result, &step) || step != s->channels)) ||
        (grad && (grad->dtype != input->dtype || !is_columns(grad, &s->grad_step)))) {
        s->row_step = s->grad_step = s->channels;
        return false;
    }
    return true;
}

int mt_cpu_native_batch_norm(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *input, mt_tensor *weight,
                             mt_tensor *bias, mt_tensor *running_mean, mt_tensor *running_var, bool training,
                             double momentum, double eps)
{
    mt_norm_frame f;
    batch s = {.f = &f};
    forward w = {.training = training, .momentum = momentum, .eps = eps};
    void *memory = NULL;
    int rc = -1;

    mt_norm_open(&f, input);
    s.k = f.k;
    set_layout(&s, input);
    MT_TRY(new_factors(&s, &memory));
    if (shares_columns(&s, input, out0, NULL)) {
        s.columns = true;
        s.x = mt_tensor_const_data(input);
        s.y = mt_tensor_mutable_data(out0);
    } else {
        MT_TRY(mt_norm_read(&f, &s.x, input));
        MT_TRY(mt_norm_write(&f, &s.y, out0));
    }
    MT_TRY(mt_norm_read(&f, &w.weight, weight));
    MT_TRY(mt_norm_read(&f, &w.bias, bias));
    MT_TRY(mt_norm_update(&f, &w.running_mean, running_mean));
    MT_TRY(mt_norm_update(&f, &w.running_var, running_var));
    if (training) {
        MT_TRY(mt_norm_write(&f, &w.save_mean, out1));
        MT_TRY(mt_norm_write(&f, &w.save_invstd, out2));
    }
    run_forward(&s, &w);
    rc = 0;
fail:
    mt_free(memory);
    return mt_norm_close(&f, rc);
}

/* --- backward --- */

typedef struct backward {
    const char *weight, *mean, *invstd; /* invstd: the variance when not training */
    char *d_weight, *d_bias;
    bool train, wants_input;
    double eps;
} backward;

static double invstd_of(const batch *s, const backward *w, int64_t c)
{
    double value = mt_norm_get(s->f, w->invstd, c);

    return w->train ? value : 1.0 / sqrt(value + w->eps);
}

static void run_backward(batch *s, const backward *w)
{
    double n = (double)count(s);

    for (int64_t c = 0; c < s->channels; c++)
        s->mean[c] = mt_norm_get(s->f, w->mean, c);
    if (w->d_weight || w->d_bias || w->train)
        run_pass(s, pairs_of_channel, pairs_of_columns);
    for (int64_t c = 0; c < s->channels; c++) {
        double invstd = invstd_of(s, w, c), factor = invstd * or_else(s->f, w->weight, c, 1.0);
        double sum = s->a[c], product = s->b[c];

        if (w->d_weight)
            mt_norm_put(s->f, w->d_weight, c, product * invstd);
        if (w->d_bias)
            mt_norm_put(s->f, w->d_bias, c, sum);
        s->a[c] = factor;
        s->b[c] = w->train ? -factor * invstd * invstd * product / n : 0.0;
        s->c[c] = w->train ? -factor * sum / n : 0.0;
    }
    if (w->wants_input && count(s) > 0)
        run_pass(s, combine_channel, combine_columns);
}

int mt_cpu_native_batch_norm_backward(mt_tensor *out0, mt_tensor *out1, mt_tensor *out2, mt_tensor *grad_out,
                                      mt_tensor *input, mt_tensor *weight, mt_tensor *running_mean,
                                      mt_tensor *running_var, mt_tensor *save_mean, mt_tensor *save_invstd, bool train,
                                      double eps, mt_ints output_mask)
{
    mt_norm_frame f;
    batch s = {.f = &f};
    backward w = {.train = train, .wants_input = out0 != NULL, .eps = eps};
    void *memory = NULL;
    int rc = -1;

    (void)output_mask;
    mt_norm_open(&f, input);
    s.k = f.k;
    set_layout(&s, input);
    MT_TRY(new_factors(&s, &memory));
    if (shares_columns(&s, input, out0, grad_out)) {
        s.columns = true;
        s.x = mt_tensor_const_data(input);
        s.grad = mt_tensor_const_data(grad_out);
        s.y = out0 ? mt_tensor_mutable_data(out0) : NULL;
    } else {
        MT_TRY(mt_norm_read(&f, &s.x, input));
        MT_TRY(mt_norm_read(&f, &s.grad, grad_out));
        MT_TRY(mt_norm_write(&f, &s.y, out0));
    }
    MT_TRY(mt_norm_read(&f, &w.weight, weight));
    MT_TRY(mt_norm_read(&f, &w.mean, train ? save_mean : running_mean));
    MT_TRY(mt_norm_read(&f, &w.invstd, train ? save_invstd : running_var));
    MT_TRY(mt_norm_write(&f, &w.d_weight, out1));
    MT_TRY(mt_norm_write(&f, &w.d_bias, out2));
    run_backward(&s, &w);
    rc = 0;
fail:
    mt_free(memory);
    return mt_norm_close(&f, rc);
}
