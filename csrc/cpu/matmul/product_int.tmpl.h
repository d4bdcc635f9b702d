/* SPDX-License-Identifier: BSD-3-Clause */
/* C += alpha A B for one unsigned integer type (two's complement makes it serve the signed one). B goes through a small
   packed panel, so rows of any stride meet the same register tile of 4 rows and two vectors.

   In scope: U, S, V, LANES. Instantiated by product_int_isa.c. */
#define ME(stem) MT_JOIN(stem, MT_JOIN(_, S))
enum { ME(WIDTH) = 2 * LANES, ME(DEPTH) = 256, ME(HEIGHT) = 4 };

/* depth x width of B at (k, j), filled up with zeros. */
static void ME(pack)(U *dst, const mt_int_product *p, int64_t k, int64_t depth, int64_t j, int64_t width)
{
    for (int64_t r = 0; r < depth; r++, dst += ME(WIDTH)) {
        const U *from = (const U *)p->b + (k + r) * p->b_row + j * p->b_col;

        if (p->b_col == 1 && width == ME(WIDTH)) {
            memcpy(dst, from, ME(WIDTH) * sizeof(U));
            continue;
        }
        for (int64_t i = 0; i < ME(WIDTH); i++)
            dst[i] = i < width ? from[i * p->b_col] : 0;
    }
}

static MT_ALWAYS_INLINE void ME(tile)(const int height, U *sums, const U *a, int64_t a_row, int64_t a_col,
                                      const U *panel, int64_t depth)
{
    V acc[ME(HEIGHT)][2];

    for (int i = 0; i < height; i++)
        acc[i][0] = acc[i][1] = (V){0};
    for (int64_t k = 0; k < depth; k++, panel += ME(WIDTH)) {
        V low, high;

        memcpy(&low, panel, sizeof low);
        memcpy(&high, panel + LANES, sizeof high);
        for (int i = 0; i < height; i++) {
            U value = a[i * a_row + k * a_col];

            acc[i][0] += low * value;
            acc[i][1] += high * value;
        }
    }
    memcpy(sums, acc, (size_t)height * 2 * sizeof(V));
}

static void ME(add_tile)(const mt_int_product *p, const U *sums, int64_t i0, int64_t j, int64_t height, int64_t width)
{
    for (int64_t i = 0; i < height; i++) {
        U *c = (U *)p->c + (i0 + i) * p->c_row + j * p->c_col;

        for (int64_t q = 0; q < width; q++)
            c[q * p->c_col] += (U)p->alpha * sums[i * ME(WIDTH) + q];
    }
}

void MT_ISA_NAME(ME(mt_int_product))(const mt_int_product *p)
{
    MT_ALIGNED(64) U panel[ME(DEPTH) * ME(WIDTH)], sums[ME(HEIGHT) * ME(WIDTH)];

    for (int64_t k = 0; k < p->k; k += ME(DEPTH)) {
        int64_t depth = p->k - k < ME(DEPTH) ? p->k - k : ME(DEPTH);

        for (int64_t j = 0; j < p->n; j += ME(WIDTH)) {
            int64_t width = p->n - j < ME(WIDTH) ? p->n - j : ME(WIDTH), i = 0;
            const U *a = (const U *)p->a + k * p->a_col;

            ME(pack)(panel, p, k, depth, j, width);
            for (; i + ME(HEIGHT) <= p->m; i += ME(HEIGHT)) {
                ME(tile)(ME(HEIGHT), sums, a + i * p->a_row, p->a_row, p->a_col, panel, depth);
                ME(add_tile)(p, sums, i, j, ME(HEIGHT), width);
            }
            for (; i < p->m; i++) {
                ME(tile)(1, sums, a + i * p->a_row, p->a_row, p->a_col, panel, depth);
                ME(add_tile)(p, sums, i, j, 1, width);
            }
        }
    }
}

#undef ME
