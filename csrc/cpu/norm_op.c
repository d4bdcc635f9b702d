/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of normalisation kernels: operands of other dtypes or with gaps are copied, storages are pinned while the kernel
   runs. The choice of the ISA level is here too. */
#include "cpu/norm_op.h"

#include "core/tensor.h"

const mt_norm_kernels *mt_norm_choose(int itemsize)
{
#if defined(__x86_64__)
    static const mt_norm_kernels *const table[2][MT_ISA_COUNT] = {{&mt_norm_f32_v2, &mt_norm_f32_v3, &mt_norm_f32_v4},
                                                                  {&mt_norm_f64_v2, &mt_norm_f64_v3, &mt_norm_f64_v4}};

    return table[itemsize == 8][mt_cpu_isa()];
#else
    return itemsize == 8 ? &mt_norm_f64_v2 : &mt_norm_f32_v2;
#endif
}

void mt_norm_open(mt_norm_frame *f, const mt_tensor *input)
{
    f->dtype = input->dtype == MT_DTYPE_f64 ? MT_DTYPE_f64 : MT_DTYPE_f32;
    f->itemsize = f->dtype == MT_DTYPE_f64 ? 8 : 4;
    f->n = 0;
    f->k = mt_norm_choose(f->itemsize);
}

static int add(mt_norm_frame *f, char **out, mt_tensor *t, bool reads, bool writes)
{
    mt_tensor *used = NULL;

    *out = NULL;
    if (!t)
        return 0;
    if (t->dtype == (uint8_t)f->dtype && (t->flags & MT_FLAG_CONTIGUOUS)) {
        used = mt_tensor_ref(t);
    } else {
        if (mt_tensor_new(&used, f->dtype, t->ndim, t->size, t->device) < 0)
            return -1;
        if (reads && mt_tensor_assign(used, t) < 0) {
            mt_tensor_clear(&used);
            return -1;
        }
    }
    f->given[f->n] = t;
    f->used[f->n] = used;
    f->written[f->n++] = writes;
    mt_storage_pin(used->storage);
    *out = writes ? mt_tensor_mutable_data(used) : (char *)(uintptr_t)mt_tensor_const_data(used);
    return 0;
}

int mt_norm_read(mt_norm_frame *f, const char **out, mt_tensor *t)
{
    char *p;
    int rc = add(f, &p, t, true, false);

    *out = p;
    return rc;
}

int mt_norm_write(mt_norm_frame *f, char **out, mt_tensor *t)
{
    return add(f, out, t, false, true);
}

int mt_norm_update(mt_norm_frame *f, char **out, mt_tensor *t)
{
    return add(f, out, t, true, true);
}

int mt_norm_close(mt_norm_frame *f, int rc)
{
    for (int i = 0; i < f->n; i++)
        mt_storage_unpin(f->used[i]->storage);
    for (int i = 0; i < f->n; i++) {
        if (rc == 0 && f->written[i] && f->used[i] != f->given[i])
            rc = mt_tensor_assign(f->given[i], f->used[i]);
        mt_tensor_clear(&f->used[i]);
    }
    f->n = 0;
    return rc;
}
