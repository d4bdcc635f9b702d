/* SPDX-License-Identifier: BSD-3-Clause */
/* Strided copies and fills against the plain loops they replace: random shapes, orders of dims,
   gaps, broadcast sources, item sizes; long runs and tiles included. The thread pool is replaced by
   two serial halves, so ranges are always cut. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "cpu/copy.h"

void mt_parallel_for(int64_t n, double ns_per_item, int64_t align, mt_parallel_body *body, void *ctx)
{
    int64_t cut = n / 2 / align * align;

    (void)ns_per_item;
    if (cut > 0)
        body(ctx, 0, cut);
    body(ctx, cut, n);
}

static uint64_t random_below(uint64_t n)
{
    static uint64_t s = 88172645463325252u;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (s >> 11) % n;
}

/* Strides of a dense layout whose innermost dim is order[0], with a gap. */
static int64_t lay_out(int64_t *stride, const int *order, const int64_t *size, int ndim, int64_t itemsize, int64_t gap)
{
    int64_t bytes = itemsize * gap;

    for (int i = 0; i < ndim; i++) {
        stride[order[i]] = bytes;
        bytes *= size[order[i]];
    }
    return bytes;
}

static int copy_once(int round)
{
    int ndim = 1 + (int)random_below(4), forward[4] = {0, 1, 2, 3}, order[4];
    int64_t itemsize = 1 << random_below(5), size[4], ds[4], ss[4], n = 1, d_bytes, s_bytes;
    unsigned char *d, *e, *s;
    int bad;

    for (int i = 0; i < ndim; i++) {
        size[i] = 1 + (int64_t)random_below(round % 7 == 0 ? 90 : 9);
        n *= size[i];
        forward[i] = ndim - 1 - i;
    }
    if (n > 300000)
        return 0;
    memcpy(order, forward, sizeof order);
    for (int i = ndim - 1; i > 0; i--) {
        int j = (int)random_below((uint64_t)i + 1), t = order[i];

        order[i] = order[j];
        order[j] = t;
    }
    d_bytes = lay_out(ds, forward, size, ndim, itemsize, random_below(3) ? 1 : 2);
    s_bytes = lay_out(ss, order, size, ndim, itemsize, random_below(3) ? 1 : 3);
    if (random_below(5) == 0)
        ss[random_below((uint64_t)ndim)] = 0;
    d = malloc((size_t)d_bytes);
    e = malloc((size_t)d_bytes);
    s = malloc((size_t)s_bytes);
    if (!d || !e || !s)
        exit(2);
    for (int64_t i = 0; i < s_bytes; i++)
        s[i] = (unsigned char)random_below(256);
    memset(d, 7, (size_t)d_bytes);
    memset(e, 7, (size_t)d_bytes);
    for (int64_t k = 0; k < n; k++) {
        int64_t rest = k, to = 0, from = 0;

        for (int i = ndim - 1; i >= 0; i--) {
            to += rest % size[i] * ds[i];
            from += rest % size[i] * ss[i];
            rest /= size[i];
        }
        memcpy(e + to, s + from, (size_t)itemsize);
    }
    mt_cpu_copy_strided((char *)d, ds, (const char *)s, ss, size, ndim, (size_t)itemsize);
    bad = memcmp(d, e, (size_t)d_bytes) != 0;
    if (bad)
        printf("copy %d: ndim %d itemsize %d differs\n", round, ndim, (int)itemsize);
    free(d);
    free(e);
    free(s);
    return bad;
}

static int fill_once(size_t itemsize, int64_t n)
{
    unsigned char value[16], *d = malloc((size_t)(n + 1) * itemsize);
    int bad = 0;

    if (!d)
        exit(2);
    for (size_t i = 0; i < 16; i++)
        value[i] = (unsigned char)(n % 3 == 0 ? 9 : random_below(256));
    memset(d, 1, (size_t)(n + 1) * itemsize);
    mt_cpu_fill((char *)d, value, itemsize, n);
    for (int64_t i = 0; i < n; i++)
        bad |= memcmp(d + (size_t)i * itemsize, value, itemsize) != 0;
    for (size_t i = 0; i < itemsize; i++)
        bad |= d[(size_t)n * itemsize + i] != 1;
    if (bad)
        printf("fill of %d items of %d bytes differs\n", (int)n, (int)itemsize);
    free(d);
    return bad;
}

int main(void)
{
    int bad = 0;

    for (int round = 0; round < 20000; round++)
        bad |= copy_once(round);
    for (size_t itemsize = 1; itemsize <= 16; itemsize *= 2)
        for (int64_t n = 0; n < 300; n++)
            bad |= fill_once(itemsize, n);
    bad |= fill_once(4, 300000);
    return bad;
}
