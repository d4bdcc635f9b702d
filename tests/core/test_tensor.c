/* SPDX-License-Identifier: BSD-3-Clause */
/* Storages, tensors, views, versions, shapes, overlap, and what happens when allocations fail. */
#include "check.h"

static int deleted;

static void count_delete(void *ctx)
{
    deleted += *(int *)ctx;
}

static void test_storage(void)
{
    mt_storage *s, *b;
    char memory[8] = "abcdefg";
    int one = 1;

    CHECK(mt_storage_new_zeroed(&s, 16, MT_CPU) == 0 && (s->flags & MT_STORAGE_INLINE));
    strcpy(s->data, "hello");
    CHECK(mt_storage_resize(s, 5000) == 0 && strcmp(s->data, "hello") == 0 && !(s->flags & MT_STORAGE_INLINE));
    CHECK(mt_storage_resize(s, 6) == 0 && strcmp(s->data, "hello") == 0 && (s->flags & MT_STORAGE_SHRUNK));
    CHECK(mt_storage_resize(s, 0) == 0 && s->nbytes == 0 && mt_storage_resize(s, 9) == 0);
    mt_storage_pin(s);
    CHECK_ERROR(mt_storage_resize(s, 100), MT_ERR_RUNTIME, "in use");
    mt_storage_unpin(s);
    CHECK_ERROR(mt_storage_resize(s, (size_t)1 << 60), MT_ERR_RUNTIME, "can't allocate memory");
    CHECK(s->nbytes == 9);
    mt_storage_clear(&s);
    CHECK(s == NULL);
    CHECK(mt_storage_from_memory(&b, memory, 8, MT_CPU, count_delete, &one) == 0);
    CHECK_ERROR(mt_storage_resize(b, 4), MT_ERR_RUNTIME, "not resizable");
    mt_storage_ref(b);
    mt_storage_unref(b);
    CHECK(deleted == 0);
    mt_storage_unref(b);
    CHECK(deleted == 1);
    CHECK(mt_storage_new(&s, (size_t)1 << 40, MT_META) == 0 && s->data == NULL);
    CHECK(mt_storage_resize(s, 10) == 0 && s->nbytes == 10);
    mt_storage_unref(s);
}

static void test_tensor(void)
{
    mt_tensor *t, *u;
    mt_scalar s;
    int64_t size[130];

    CHECK(sizeof(mt_tensor) + sizeof(mt_storage) + 16 <= 240);
    CHECK_ERROR(mt_tensor_new(&t, MT_DTYPE_f32, 2, SIZES(2, -3), MT_CPU), MT_ERR_RUNTIME,
                "Trying to create tensor with negative dimension -3: [2, -3]");
    CHECK(t == NULL);
    CHECK_ERROR(mt_tensor_new(&t, MT_DTYPE_f32, 2, SIZES((int64_t)1 << 40, (int64_t)1 << 40), MT_CPU), MT_ERR_RUNTIME,
                "Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]");
    CHECK_ERROR(mt_tensor_new(&t, MT_DTYPE_f32, 3, SIZES(0, (int64_t)1 << 40, (int64_t)1 << 40), MT_CPU),
                MT_ERR_RUNTIME, "Stride calculation overflowed");
    CHECK_ERROR(mt_tensor_new_strided(&t, MT_DTYPE_f32, 1, SIZES(2), SIZES(-1), MT_CPU), MT_ERR_RUNTIME,
                "Storage size calculation overflowed with sizes=[2] and strides=[-1]");
    t = make(MT_DTYPE_f32, 3, SIZES(2, 0, 4));
    CHECK(t->numel == 0 && mt_tensor_is_contiguous(t) && t->stride[0] == 4 && t->stride[1] == 4);
    mt_tensor_unref(t);
    for (int i = 0; i < 130; i++)
        size[i] = 1 + (i % 40 == 0);
    t = make_range(MT_DTYPE_i64, 128, size);
    CHECK(t->numel == 16 && number_at(t, 13) == 13);
    CHECK(mt_tensor_new_like(&u, t, MT_DTYPE_f64) == 0 && u->ndim == 128);
    mt_tensor_unref(u);
    mt_tensor_unref(t);
    CHECK_ERROR(mt_tensor_new(&t, MT_DTYPE_i64, 129, size, MT_CPU), MT_ERR_RUNTIME, "more than 128 dims");
    CHECK(mt_tensor_from_scalar(&t, mt_scalar_from_double(2.5)) == 0 && mt_tensor_is_wrapped_number(t) && t->ndim == 0);
    CHECK(mt_tensor_item(&s, t) == 0 && s.v.d == 2.5);
    mt_tensor_unref(t);
    CHECK(mt_tensor_full_0d(&t, mt_scalar_from_int(3), MT_DTYPE_bf16, MT_CPU) == 0 && number_at(t, 0) == 3);
    mt_tensor_unref(t);
    t = make(MT_DTYPE_f32, 1, SIZES(2));
    CHECK_ERROR(mt_tensor_item(&s, t), MT_ERR_RUNTIME, "a Tensor with 2 elements cannot be converted to Scalar");
    mt_tensor_unref(t);
    CHECK(mt_tensor_new(&t, MT_DTYPE_f32, 1, SIZES(1), MT_META) == 0);
    CHECK_ERROR(mt_tensor_item(&s, t), MT_ERR_RUNTIME, "cannot be called on meta tensors");
    mt_tensor_unref(t);
}

static void test_layout_flags(void)
{
    mt_tensor *t = make(MT_DTYPE_f32, 4, SIZES(2, 3, 4, 5)), *v, *w;
    int64_t stride[4];

    CHECK(!(t->flags & MT_FLAG_CHANNELS_LAST) && (t->flags & MT_FLAG_DENSE));
    CHECK(mt_shape_channels_last_strides(stride, 4, t->size) == 0 && stride[0] == 60 && stride[1] == 1 &&
          stride[2] == 15);
    CHECK(mt_tensor_new_strided(&v, MT_DTYPE_f32, 4, t->size, stride, MT_CPU) == 0);
    CHECK((v->flags & MT_FLAG_CHANNELS_LAST) && (v->flags & MT_FLAG_DENSE) && !mt_tensor_is_contiguous(v));
    w = view(v, 4, SIZES(2, 3, 2, 5), v->stride, 0);
    CHECK(!(w->flags & (MT_FLAG_CHANNELS_LAST | MT_FLAG_DENSE | MT_FLAG_CONTIGUOUS)));
    mt_tensor_unref(w);
    mt_tensor_unref(v);
    mt_tensor_unref(t);
    t = make(MT_DTYPE_f32, 4, SIZES(2, 1, 4, 4)); /* both formats at once */
    CHECK((t->flags & MT_FLAG_CHANNELS_LAST) && mt_tensor_is_contiguous(t));
    mt_tensor_unref(t);
    CHECK_ERROR(mt_shape_channels_last_strides(stride, 3, SIZES(1, 2, 3)), MT_ERR_RUNTIME, "required rank 4");
}

static void test_versions(void)
{
    mt_tensor *t = make(MT_DTYPE_f32, 2, SIZES(2, 3)), *v, *w, *detached, *data;

    mt_tensor_bump_version(t);
    CHECK(t->version == NULL && mt_tensor_version(t) == 1);
    v = transposed(t);
    w = transposed(v);
    CHECK(w->base == t && v->base == t && (v->flags & MT_FLAG_VIEW) && w->own_version == 1);
    mt_tensor_bump_version(w);
    CHECK(mt_tensor_version(t) == 2 && mt_tensor_version(v) == 2);
    CHECK(mt_tensor_new_alias(&detached, v, true) == 0 && mt_tensor_new_alias(&data, v, false) == 0);
    CHECK(!(detached->flags & MT_FLAG_VIEW) && detached->base == NULL && detached->size[0] == 3);
    mt_tensor_bump_version(detached);
    mt_tensor_bump_version(data);
    CHECK(mt_tensor_version(t) == 3 && mt_tensor_version(data) == 1);
    mt_tensor_unref(t); /* the views keep it */
    mt_tensor_unref(v);
    CHECK(w->base->numel == 6);
    mt_tensor_unref(w);
    mt_tensor_unref(detached);
    mt_tensor_unref(data);
}

static void test_geometry(void)
{
    mt_tensor *t = make_range(MT_DTYPE_i32, 2, SIZES(2, 3)), *v;
    mt_storage *s;

    CHECK_ERROR(mt_tensor_from_storage(&v, t->storage, MT_DTYPE_i32, 1, SIZES(5), SIZES(1), 2), MT_ERR_RUNTIME,
                "setStorage: sizes [5], strides [1], storage offset 2, and itemsize 4 requiring a "
                "storage size of 28 are out of bounds for storage of size 24");
    CHECK_ERROR(mt_tensor_from_storage(&v, t->storage, MT_DTYPE_i32, 1, SIZES(1), SIZES(1), -1), MT_ERR_RUNTIME,
                "invalid storage offset -1");
    CHECK_ERROR(mt_tensor_from_storage(&v, t->storage, MT_DTYPE_i32, 1, SIZES(3), SIZES((int64_t)1 << 62), 0),
                MT_ERR_RUNTIME, "overflowed");
    CHECK(mt_tensor_from_storage(&v, t->storage, MT_DTYPE_i32, 1, SIZES(2), SIZES(3), 2) == 0);
    CHECK(number_at(v, 1) == 5);
    CHECK(mt_tensor_resize(v, 2, SIZES(2, 4)) == 0 && v->stride[0] == 4 && v->storage->nbytes == 40);
    CHECK(number_at(v, 3) == 5 && number_at(t, 5) == 5);
    CHECK_ERROR(mt_tensor_resize(v, 2, SIZES(-1, 4)), MT_ERR_RUNTIME, "negative");
    CHECK_ERROR(mt_tensor_resize(v, 2, SIZES((int64_t)1 << 61, 4)), MT_ERR_RUNTIME, "overflowed");
    CHECK_ERROR(mt_tensor_resize(v, 2, SIZES((int64_t)1 << 50, 4)), MT_ERR_RUNTIME, "can't allocate");
    CHECK(v->ndim == 2 && v->size[0] == 2 && v->size[1] == 4 && v->numel == 8);
    CHECK(mt_tensor_resize(v, 7, SIZES(1, 1, 1, 1, 1, 1, 2)) == 0 && v->ndim == 7);
    CHECK(mt_tensor_set_geometry(v, 7, v->size, v->stride, 1) == 0 && v->offset == 1);
    CHECK(mt_tensor_set_geometry(v, 1, v->size, v->stride, 0) == 0 && v->size == v->inline_dims);
    CHECK(mt_storage_new(&s, 8, MT_CPU) == 0);
    mt_storage_pin(v->storage);
    CHECK_ERROR(mt_tensor_set_storage(v, s), MT_ERR_RUNTIME, "in use");
    mt_storage_unpin(v->storage);
    CHECK(mt_tensor_set_storage(v, s) == 0 && v->storage == s);
    mt_storage_unref(s);
    mt_tensor_unref(v);
    CHECK(mt_tensor_check_bounds(t) == 0 && mt_storage_resize(t->storage, 20) == 0);
    CHECK_ERROR(mt_tensor_check_bounds(t), MT_ERR_RUNTIME, "out of bounds for storage of size 20");
    mt_tensor_unref(t);
}

static void test_shapes(void)
{
    mt_shape shape = {2, {2, 1}};
    int64_t d = -1, out[4];
    uint64_t mask;
    mt_tensor *t, *v;

    CHECK(mt_shape_broadcast(&shape, 3, SIZES(4, 1, 3)) == 0 && shape.ndim == 3 && shape.size[0] == 4 &&
          shape.size[1] == 2 && shape.size[2] == 3);
    CHECK(mt_shape_broadcast(&shape, 1, SIZES(1)) == 0);
    CHECK_ERROR(mt_shape_broadcast(&shape, 1, SIZES(2)), MT_ERR_RUNTIME,
                "The size of tensor a (3) must match the size of tensor b (2) at non-singleton "
                "dimension 2");
    shape = (mt_shape){1, {0}};
    CHECK(mt_shape_broadcast(&shape, 2, SIZES(5, 1)) == 0 && shape.size[1] == 0);
    CHECK(mt_dim_wrap(&d, 0) == 0 && d == 0);
    d = 3;
    CHECK_ERROR(mt_dim_wrap(&d, 0), MT_ERR_INDEX, "(expected to be in range of [-1, 0], but got 3)");
    CHECK(mt_dims_mask(&mask, SIZES(0, -1), 2, 3, true) == 0 && mask == 5);
    CHECK(mt_dims_mask(&mask, NULL, 0, 3, true) == 0 && mask == 7);
    CHECK(mt_dims_mask(&mask, SIZES(0), 0, 3, false) == 0 && mask == 0);
    CHECK_ERROR(mt_dims_mask(&mask, SIZES(1, -2), 2, 3, true), MT_ERR_RUNTIME, "dim 1 appears multiple times");
    CHECK_ERROR(mt_dims_mask(&mask, NULL, 0, 70, true), MT_ERR_RUNTIME, "up to 64 dims");
    CHECK(mt_shape_infer(out, SIZES(2, -1), 2, 6) == 0 && out[1] == 3);
    CHECK_ERROR(mt_shape_infer(out, SIZES(4, -1), 2, 6), MT_ERR_RUNTIME,
                "shape '[4, -1]' is invalid for input of size 6");
    CHECK_ERROR(mt_shape_infer(out, SIZES(-1, -1), 2, 6), MT_ERR_RUNTIME, "only one dimension");
    CHECK_ERROR(mt_shape_infer(out, SIZES(-1, 0), 2, 0), MT_ERR_RUNTIME, "ambiguous");
    CHECK_ERROR(mt_shape_infer(out, SIZES(-2, 3), 2, 6), MT_ERR_RUNTIME, "invalid shape dimension -2 at index 0");
    CHECK_ERROR(mt_shape_infer(out, SIZES((int64_t)1 << 62, 4), 2, 0), MT_ERR_RUNTIME, "invalid for input of size 0");
    t = make(MT_DTYPE_f32, 2, SIZES(4, 6));
    CHECK(mt_shape_view_strides(out, t, 3, SIZES(2, 2, 6)) && out[0] == 12 && out[1] == 6);
    v = transposed(t);
    CHECK(!mt_shape_view_strides(out, v, 1, SIZES(24)));
    CHECK(mt_shape_view_strides(out, v, 4, SIZES(2, 3, 2, 2)) && out[0] == 3 && out[1] == 1 && out[2] == 12 &&
          out[3] == 6);
    mt_shape_strides_like(out, v);
    CHECK(out[0] == 1 && out[1] == 6);
    mt_tensor_unref(v);
    v = view(t, 2, SIZES(6, 2), SIZES(1, 12), 0);
    mt_shape_strides_like(out, v);
    CHECK(out[0] == 1 && out[1] == 6);
    mt_tensor_unref(v);
    mt_tensor_unref(t);
}

static void test_overlap(void)
{
    mt_tensor *t = make(MT_DTYPE_f32, 1, SIZES(6)), *a = view(t, 1, SIZES(4), SIZES(1), 0);
    mt_tensor *b = view(t, 1, SIZES(4), SIZES(1), 1), *c = view(t, 1, SIZES(2), SIZES(1), 4);
    mt_tensor *expanded = view(t, 2, SIZES(3, 6), SIZES(0, 1), 0), *odd = view(t, 1, SIZES(3), SIZES(2), 0);
    mt_tensor *square = view(t, 2, SIZES(2, 2), SIZES(2, 1), 0), *turned = view(t, 2, SIZES(2, 2), SIZES(1, 2), 0);

    CHECK(mt_overlap_between(a, b) == MT_OVERLAP_YES && mt_overlap_between(a, c) == MT_OVERLAP_NO);
    CHECK(mt_overlap_between(a, a) == MT_OVERLAP_FULL && mt_overlap_between(a, odd) == MT_OVERLAP_TOO_HARD);
    CHECK(mt_overlap_between(square, turned) == MT_OVERLAP_YES);
    CHECK(mt_overlap_internal(expanded) == MT_OVERLAP_YES && mt_overlap_internal(t) == MT_OVERLAP_NO);
    CHECK(mt_overlap_internal(odd) == MT_OVERLAP_TOO_HARD);
    CHECK_ERROR(mt_assert_no_internal_overlap(expanded), MT_ERR_RUNTIME, "single memory location. Please clone()");
    CHECK_ERROR(mt_assert_no_partial_overlap(a, b), MT_ERR_RUNTIME, "some elements of the input tensor");
    mt_tensor_unref(a);
    mt_tensor_unref(b);
    mt_tensor_unref(c);
    mt_tensor_unref(expanded);
    mt_tensor_unref(odd);
    mt_tensor_unref(square);
    mt_tensor_unref(turned);
    mt_tensor_unref(t);
}

static void test_assign(void)
{
    mt_tensor *t = make_range(MT_DTYPE_f32, 2, SIZES(3, 4)), *v = transposed(t),
              *u = make(MT_DTYPE_i16, 3, SIZES(2, 4, 3));
    mt_tensor *m, *z = make(MT_DTYPE_c64, 1, SIZES(2));
    mt_scalar s;

    CHECK(mt_tensor_assign(u, v) == 0);
    for (int i = 0; i < 24; i++)
        CHECK(number_at(u, i) == (double)(i % 12 % 3 * 4 + i % 12 / 3));
    CHECK_ERROR(mt_tensor_assign(v, u), MT_ERR_INTERNAL, "broadcast");
    CHECK(mt_tensor_materialize(&m, v) == 0 && mt_tensor_is_contiguous(m) && number_at(m, 1) == 4);
    mt_tensor_unref(m);
    mt_scalar_store(mt_tensor_mutable_data(z), MT_DTYPE_c64, mt_scalar_from_complex(1, 2));
    mt_scalar_store(mt_tensor_mutable_data(z) + 8, MT_DTYPE_c64, mt_scalar_from_complex(3, 4));
    z->flags |= MT_FLAG_CONJ;
    CHECK(mt_tensor_materialize(&m, z) == 0 && !(m->flags & MT_FLAG_CONJ));
    s = mt_scalar_load(mt_tensor_const_data(m), MT_DTYPE_c64);
    CHECK(s.v.c.re == 1 && s.v.c.im == -2);
    z->flags = (uint16_t)(z->flags & ~MT_FLAG_CONJ) | MT_FLAG_NEG;
    CHECK(mt_tensor_assign(z, m) == 0); /* the bits of the destination count too */
    s = mt_scalar_load(mt_tensor_const_data(z) + 8, MT_DTYPE_c64);
    CHECK(s.v.c.re == -3 && s.v.c.im == 4);
    mt_tensor_unref(m);
    mt_tensor_unref(z);
    mt_tensor_unref(u);
    mt_tensor_unref(v);
    mt_tensor_unref(t);
}

/* Every allocation of a little program fails in turn; nothing leaks and every failure is
   reported. */
static int little_program(void)
{
    int rc = -1;
    mt_tensor *t = NULL, *v = NULL, *m = NULL;
    mt_tensor_list list = {NULL, 0};

    MT_TRY(mt_tensor_new_zeroed(&t, MT_DTYPE_f64, 6, SIZES(1, 1, 1, 1, 2, 300), MT_CPU));
    MT_TRY(mt_tensor_new_view(&v, t, 2, SIZES(300, 2), SIZES(1, 300), 0));
    MT_TRY(mt_tensor_resize(v, 7, SIZES(1, 1, 1, 1, 1, 1, 900)));
    MT_TRY(mt_tensor_materialize(&m, v));
    MT_TRY(mt_tensor_list_new(&list, 9));
    list.data[4] = mt_tensor_ref(t);
    rc = 0;
fail:
    mt_tensor_list_clear(&list);
    mt_tensor_clear(&t);
    mt_tensor_clear(&v);
    mt_tensor_clear(&m);
    return rc;
}

static void test_failures(void)
{
    mt_alloc_stats before, after;
    uint64_t n = 1;

    mt_alloc_get_stats(&before);
    for (;; n++) {
        int rc;

        mt_alloc_fail_at(n);
        rc = little_program();
        CHECK(rc == (mt_alloc_failed() ? -1 : 0));
        mt_alloc_get_stats(&after);
        CHECK(after.live_blocks == before.live_blocks);
        if (!mt_alloc_failed())
            break;
        mt_error_clear();
    }
    mt_alloc_fail_at(0);
    CHECK(n > 10);
}

int main(void)
{
    use_casts();
    test_storage();
    test_tensor();
    test_layout_flags();
    test_versions();
    test_geometry();
    test_shapes();
    test_overlap();
    test_assign();
    test_failures();
    return check_done();
}
