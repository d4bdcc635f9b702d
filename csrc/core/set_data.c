/* SPDX-License-Identifier: BSD-3-Clause */
/* The .data setter: a tensor takes over what another one is made of. */
#include "core/tensor.h"

int mt_tensor_set_data(mt_tensor *t, const mt_tensor *from)
{
    uint8_t old_dtype = t->dtype;
    mt_storage *storage = mt_storage_ref(from->storage);
    int rc = -1;

    if (t == from) {
        mt_storage_unref(storage);
        return 0;
    }
    t->dtype = from->dtype;
    MT_TRY(mt_tensor_set_geometry(t, from->ndim, from->size, from->stride, from->offset));
    mt_storage_unref(t->storage);
    t->storage = storage;
    t->device = from->device;
    storage = NULL;
    rc = 0;
fail:
    if (rc < 0)
        t->dtype = old_dtype;
    mt_storage_unref(storage);
    return rc;
}
