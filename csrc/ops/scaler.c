/* SPDX-License-Identifier: BSD-3-Clause */
/* The two steps of torch.amp.GradScaler that look at numbers: dividing gradients while looking for what is not finite, and
   the next scale. */
#include <math.h>

#include "base/error.h"
#include "base/macros.h"
#include "core/dispatch.h"
#include "ops.h"

static int require_one(const mt_tensor *t, const char *name, mt_dtype dtype, const char *dtype_name)
{
    if (t->numel != 1)
        return mt_error_set(MT_ERR_RUNTIME, "%s must be a 1-element tensor.", name);
    if (t->dtype != dtype)
        return mt_error_set(MT_ERR_RUNTIME, "%s must be %s tensor.", name, dtype_name);
    return 0;
}

/* found_inf = 1 where some element is not finite; nothing is read back from the device. */
static int note_infinite(mt_tensor *found_inf, mt_tensor *t)
{
    mt_tensor *finite = NULL, *all = NULL, *bad = NULL;
    int rc = -1;

    MT_TRY(mt_isfinite(&finite, t));
    MT_TRY(mt_all(&all, finite));
    MT_TRY(mt_logical_not(&bad, all));
    MT_TRY(mt_masked_fill_Scalar_inplace(found_inf, bad, mt_scalar_from_double(1.0)));
    rc = 0;
fail:
    mt_tensor_clear(&finite);
    mt_tensor_clear(&all);
    mt_tensor_clear(&bad);
    return rc;
}

int mt_impl_amp_unscale(mt_tensors self, mt_tensor *found_inf, mt_tensor *inv_scale)
{
    mt_tensor *factor = NULL;
    int rc = -1;

    if (self.n == 0)
        return 0;
    MT_TRY(require_one(inv_scale, "inv_scale", MT_DTYPE_f32, "a float"));
    MT_TRY(require_one(found_inf, "found_inf", MT_DTYPE_f32, "a float"));
    for (int i = 0; i < self.n; i++)
        if (!mt_dtype_is_float((mt_dtype)self.data[i]->dtype)) {
            mt_error_set(MT_ERR_NOT_IMPLEMENTED,
                         "\"_amp_foreach_non_finite_check_and_unscale_cpu\" not implemented for '%s'",
                         mt_dtype_table[self.data[i]->dtype].legacy);
            goto fail;
        }
    MT_TRY(mt_reshape(&factor, inv_scale, (mt_ints){NULL, 0}));
    for (int i = 0; i < self.n; i++) {
        MT_TRY(note_infinite(found_inf, self.data[i]));
        MT_TRY(mt_mul_inplace(self.data[i], factor));
    }
    rc = 0;
fail:
    mt_tensor_clear(&factor);
    return rc;
}

int mt_impl_amp_update_scale(mt_tensor *self, mt_tensor *growth_tracker, mt_tensor *found_inf,
                             double scale_growth_factor, double scale_backoff_factor, int64_t growth_interval)
{
    mt_scalar found, scale, count;
    int64_t successes = 0;

    if (require_one(growth_tracker, "growth_tracker", MT_DTYPE_i32, "an int") < 0 ||
        require_one(self, "current_scale", MT_DTYPE_f32, "a float") < 0 ||
        require_one(found_inf, "found_inf", MT_DTYPE_f32, "a float") < 0 || mt_tensor_item(&found, found_inf) < 0 ||
        mt_tensor_item(&scale, self) < 0 || mt_tensor_item(&count, growth_tracker) < 0)
        return -1;
    if (mt_scalar_to_double(found) != 0) {
        if (mt_fill_inplace_Scalar(self, mt_scalar_from_double(mt_scalar_to_double(scale) * scale_backoff_factor)) < 0)
            return -1;
    } else if ((successes = mt_scalar_to_int(count) + 1) == growth_interval) {
        float grown = (float)(mt_scalar_to_double(scale) * scale_growth_factor);

        successes = 0;
        if (isfinite(grown) && mt_fill_inplace_Scalar(self, mt_scalar_from_double(grown)) < 0)
            return -1;
    }
    return mt_fill_inplace_Scalar(growth_tracker, mt_scalar_from_int(successes));
}
