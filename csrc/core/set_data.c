/* SPDX-License-Identifier: BSD-3-Clause */
/* The .data setter: a tensor takes over what another one is made of. History, version and wrapper
   stay its own. */
#include "core/dispatch.h"

int mt_tensor_set_data(mt_tensor *t, const mt_tensor *from)
{
    enum { TAKEN = MT_FLAG_CONJ | MT_FLAG_NEG };
    uint8_t old_dtype = t->dtype;
    mt_storage *old = t->storage;

    if (t == from)
        return 0;
    if (old->pins && old != from->storage)
        return mt_error_set(MT_ERR_RUNTIME, "Trying to replace storage that is in use elsewhere");
    t->dtype = from->dtype;
    if (mt_tensor_set_geometry(t, from->ndim, from->size, from->stride, from->offset) < 0) {
        t->dtype = old_dtype;
        return -1;
    }
    t->storage = mt_storage_ref(from->storage);
    t->device = from->device;
    t->keys = (uint16_t)((t->keys & MT_KEYS_TRACKED) | (from->keys & ~MT_KEYS_TRACKED));
    t->flags = (uint16_t)((t->flags & ~TAKEN) | (from->flags & TAKEN));
    mt_storage_unref(old);
    return 0;
}
