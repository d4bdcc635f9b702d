/* SPDX-License-Identifier: BSD-3-Clause */
/* einsum. The equation gives every operand a list of labels; each operand is then brought to one canonical order of
   dims, labels of the output first, with size 1 for labels it lacks. Operands are contracted two at a time: dims that no
   other operand needs are summed in a batched product when both have them, and before it when only one has.
   Labels are A-Z, a-z (this is also the order of an implicit output) and the ellipsis. */
#include <string.h>

#include "core/formula.h"
#include "core/shape.h"
#include "ops.h"

enum { N_LETTERS = 52, ELLIPSIS = 52, MAX_LABELS = 256, MAX_OPERANDS = 64 };

typedef struct labels {
    int n;
    uint8_t label[MAX_LABELS];
    bool has_ellipsis;
} labels;

typedef struct equation {
    int n_operands;
    labels operand[MAX_OPERANDS];
    labels output;
    bool has_output;
    /* canonical dims */
    int ellipsis_dims, n_dims, n_out;
    int first[N_LETTERS + 1]; /* canonical position of a label, -1: unused */
    int64_t size[MT_MAX_DIM]; /* by canonical position, 1 until a larger one is seen */
    int count[N_LETTERS];     /* occurrences in operands */
} equation;

/* --- reading the equation --- */

static int label_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    return c >= 'a' && c <= 'z' ? 26 + (c - 'a') : -1;
}

static char letter_of(int label)
{
    return (char)(label < 26 ? 'A' + label : 'a' + label - 26);
}

static int append(labels *l, int label)
{
    if (l->n >= MAX_LABELS)
        return mt_error_set(MT_ERR_RUNTIME, "einsum(): more than %d subscripts", MAX_LABELS);
    l->label[l->n++] = (uint8_t)label;
    return 0;
}

/* Reads one character, or three for an ellipsis; *at moves on. `operand` is -1 for the output. */
static int read_label(labels *l, const char *text, size_t end, size_t *at, int operand)
{
    char c = text[*at];
    int label = label_of(c);

    if (label >= 0) {
        (*at)++;
        return append(l, label);
    }
    if (c != '.')
        return mt_error_set(
            MT_ERR_RUNTIME,
            "einsum(): invalid subscript given at index %zu in the equation string, subscripts must be in "
            "[a-zA-Z]",
            *at);
    if (l->has_ellipsis)
        return operand < 0 ? mt_error_set(MT_ERR_RUNTIME,
                                          "einsum(): found '.' for output but an ellipsis (...) was already found")
                           : mt_error_set(MT_ERR_RUNTIME,
                                          "einsum(): found '.' for operand %d for which an ellipsis was already found",
                                          operand);
    if (*at + 2 >= end || text[*at + 1] != '.' || text[*at + 2] != '.')
        return operand < 0
                   ? mt_error_set(MT_ERR_RUNTIME,
                                  "einsum(): found '.' for output that is not part of any ellipsis (...)")
                   : mt_error_set(MT_ERR_RUNTIME, "einsum(): found '.' for operand %d that is not part of any ellipsis",
                                  operand);
    l->has_ellipsis = true;
    *at += 3;
    return append(l, ELLIPSIS);
}

static int read_operands(equation *e, const char *text, size_t end, int n_tensors)
{
    e->n_operands = 1;
    for (size_t at = 0; at < end;) {
        if (text[at] == ' ') {
            at++;
        } else if (text[at] == ',') {
            if (e->n_operands >= n_tensors)
                return mt_error_set(MT_ERR_RUNTIME,
                                    "einsum(): fewer operands were provided than specified in the equation");
            e->n_operands++;
            at++;
        } else if (read_label(&e->operand[e->n_operands - 1], text, end, &at, e->n_operands - 1) < 0) {
            return -1;
        }
    }
    if (e->n_operands < n_tensors)
        return mt_error_set(MT_ERR_RUNTIME, "einsum(): more operands were provided than specified in the equation");
    return 0;
}

static int read_equation(equation *e, const char *text, int n_tensors)
{
    const char *arrow = strstr(text, "->");
    size_t end = arrow ? (size_t)(arrow - text) : strlen(text), length = strlen(text);

    e->has_output = arrow != NULL;
    if (read_operands(e, text, end, n_tensors) < 0)
        return -1;
    for (size_t at = end + 2; arrow && at < length;) {
        if (text[at] == ' ')
            at++;
        else if (read_label(&e->output, text, length, &at, -1) < 0)
            return -1;
    }
    return 0;
}

/* --- canonical dims --- */

static int count_labels(equation *e, mt_tensors tensors)
{
    for (int i = 0; i < e->n_operands; i++) {
        const labels *l = &e->operand[i];
        int ndim = tensors.data[i]->ndim, n = l->n - l->has_ellipsis;

        if (!l->has_ellipsis && n != ndim)
            return mt_error_set(MT_ERR_RUNTIME,
                                "einsum(): the number of subscripts in the equation (%d) does not match the number of "
                                "dimensions (%d) for operand %d and no ellipsis was given",
                                n, ndim, i);
        if (n > ndim)
            return mt_error_set(MT_ERR_RUNTIME,
                                "einsum(): the number of subscripts in the equation (%d) is more than the number of "
                                "dimensions (%d) for operand %d",
                                n, ndim, i);
        if (l->has_ellipsis && ndim - n > e->ellipsis_dims)
            e->ellipsis_dims = ndim - n;
        for (int k = 0; k < l->n; k++)
            if (l->label[k] != ELLIPSIS)
                e->count[l->label[k]]++;
    }
    return 0;
}

static int place_output(equation *e)
{
    const labels *l = &e->output;

    if (!e->has_output) {
        e->first[ELLIPSIS] = 0;
        e->n_dims = e->ellipsis_dims;
        for (int label = 0; label < N_LETTERS; label++)
            if (e->count[label] == 1)
                e->first[label] = e->n_dims++;
        return 0;
    }
    for (int k = 0; k < l->n; k++) {
        int label = l->label[k];

        if (label == ELLIPSIS) {
            e->first[ELLIPSIS] = e->n_dims;
            e->n_dims += e->ellipsis_dims;
            continue;
        }
        if (e->first[label] >= 0)
            return mt_error_set(MT_ERR_RUNTIME, "einsum(): output subscript %c appears more than once in the output",
                                letter_of(label));
        if (e->count[label] == 0)
            return mt_error_set(MT_ERR_RUNTIME,
                                "einsum(): output subscript %c does not appear in the equation for any input operand",
                                letter_of(label));
        e->first[label] = e->n_dims++;
    }
    return 0;
}

static int place_labels(equation *e)
{
    for (int label = 0; label <= N_LETTERS; label++)
        e->first[label] = -1;
    if (place_output(e) < 0)
        return -1;
    e->n_out = e->n_dims;
    if (e->first[ELLIPSIS] < 0) {
        e->first[ELLIPSIS] = e->n_dims;
        e->n_dims += e->ellipsis_dims;
    }
    for (int label = 0; label < N_LETTERS; label++)
        if (e->count[label] > 0 && e->first[label] < 0)
            e->first[label] = e->n_dims++;
    if (e->n_dims > MT_MAX_DIM)
        return mt_error_set(MT_ERR_RUNTIME, "einsum(): more than %d dimensions", MT_MAX_DIM);
    for (int i = 0; i < e->n_dims; i++)
        e->size[i] = 1;
    return 0;
}

/* --- operands in canonical order --- */

static int merge_size(equation *e, int dim, int64_t size, int operand, int label, int ellipsis_at)
{
    if (size == 1 || e->size[dim] == size)
        return 0;
    if (e->size[dim] == 1) {
        e->size[dim] = size;
        return 0;
    }
    if (label != ELLIPSIS)
        return mt_error_set(
            MT_ERR_RUNTIME,
            "einsum(): subscript %c has size %lld for operand %d which does not broadcast with previously "
            "seen size %lld",
            letter_of(label), (long long)size, operand, (long long)e->size[dim]);
    return mt_error_set(
        MT_ERR_RUNTIME,
        "einsum(): dimension %d covered by ellipsis in operand %dhas size %lld which does not broadcast "
        "with previously seen ellipsis with size %lld for the respective dimension",
        ellipsis_at, operand, (long long)size, (long long)e->size[dim]);
}

/* The diagonal over dims a < b; it takes the place of a. */
static int merge_dims(mt_tensor **inout, int a, int b, int label, int operand)
{
    mt_tensor *diagonal = NULL, *turned = NULL;
    int64_t order[MT_MAX_DIM], size_a = (*inout)->size[a], size_b = (*inout)->size[b];
    int n, rc = -1;

    MT_REQUIRE(size_a == size_b, MT_ERR_RUNTIME,
               "einsum(): subscript %c is repeated for operand %d but the sizes don't match, %lld != %lld",
               letter_of(label), operand, (long long)size_b, (long long)size_a);
    MT_TRY(mt_diagonal(&diagonal, *inout, 0, a, b));
    n = diagonal->ndim;
    for (int i = 0; i < n; i++)
        order[i] = i < a ? i : i == a ? n - 1 : i - 1;
    MT_TRY(mt_permute(&turned, diagonal, (mt_ints){order, n}));
    mt_tensor_unref(*inout);
    *inout = mt_tensor_move(&turned);
    rc = 0;
fail:
    mt_tensor_clear(&diagonal);
    return rc;
}

static int append_dims(mt_tensor **inout, int count)
{
    for (int i = 0; i < count; i++) {
        mt_tensor *wider = NULL;

        if (mt_unsqueeze(&wider, *inout, -1) < 0)
            return -1;
        mt_tensor_unref(*inout);
        *inout = wider;
    }
    return 0;
}

/* *inout (owned) gets all canonical dims in order. */
static int canonical(mt_tensor **inout, equation *e, int operand)
{
    const labels *l = &e->operand[operand];
    int64_t order[MT_MAX_DIM];
    int at[MT_MAX_DIM], dim = 0, missing;
    mt_tensor *turned = NULL;

    for (int i = 0; i < e->n_dims; i++)
        at[i] = -1;
    for (int k = 0; k < l->n; k++) {
        int label = l->label[k], covered = (*inout)->ndim - dim - (l->n - k - 1);

        if (label == ELLIPSIS) {
            for (int i = 0; i < covered; i++, dim++) {
                int to = e->first[ELLIPSIS] + e->ellipsis_dims - covered + i;

                if (merge_size(e, to, (*inout)->size[dim], operand, ELLIPSIS, i) < 0)
                    return -1;
                at[to] = dim;
            }
        } else if (at[e->first[label]] >= 0) {
            if (merge_dims(inout, at[e->first[label]], dim, label, operand) < 0)
                return -1;
        } else {
            if (merge_size(e, e->first[label], (*inout)->size[dim], operand, label, 0) < 0)
                return -1;
            at[e->first[label]] = dim++;
        }
    }
    missing = e->n_dims - dim;
    if (append_dims(inout, missing) < 0)
        return -1;
    for (int i = 0; i < e->n_dims; i++)
        order[i] = at[i] >= 0 ? at[i] : dim++;
    if (mt_permute(&turned, *inout, (mt_ints){order, e->n_dims}) < 0)
        return -1;
    mt_tensor_unref(*inout);
    *inout = turned;
    return 0;
}

/* --- contraction of two operands --- */

/* t with its dims in this order, as three dims whose products of sizes are given. */
static int as_three(mt_tensor **out, mt_tensor *t, const int64_t *order, const int64_t *size)
{
    mt_tensor *turned = NULL;
    int rc = -1;

    MT_TRY(mt_permute(&turned, t, (mt_ints){order, t->ndim}));
    MT_TRY(mt_reshape(out, turned, (mt_ints){size, 3}));
    rc = 0;
fail:
    mt_tensor_clear(&turned);
    return rc;
}

/* Dims by who has them: both and kept, left only, contracted, right only (or nobody). */
enum { SHARED, LEFT, SUMMED, RIGHT, N_CLASSES };

static int multiply_and_sum(mt_tensor **out, mt_tensor *a, mt_tensor *b, const bool *contract)
{
    static const int left_order[N_CLASSES] = {SHARED, LEFT, SUMMED, RIGHT};
    static const int right_order[N_CLASSES] = {SHARED, SUMMED, RIGHT, LEFT};
    int64_t left[MT_MAX_DIM], right[MT_MAX_DIM], back[MT_MAX_DIM], size[MT_MAX_DIM], total[N_CLASSES] = {1, 1, 1, 1};
    mt_tensor *left3 = NULL, *right3 = NULL, *product = NULL, *shaped = NULL;
    int n = a->ndim, n_left = 0, n_right = 0, rc = -1;
    uint8_t class_of[MT_MAX_DIM];

    for (int d = 0; d < n; d++) {
        int64_t larger = a->size[d] != 1 ? a->size[d] : b->size[d];

        class_of[d] = contract[d] ? SUMMED : a->size[d] == 1 ? RIGHT : b->size[d] == 1 ? LEFT : SHARED;
        total[class_of[d]] *= larger;
    }
    for (int k = 0; k < N_CLASSES; k++)
        for (int d = 0; d < n; d++) {
            if (class_of[d] == left_order[k]) {
                size[n_left] = class_of[d] == SUMMED ? 1 : a->size[d] != 1 ? a->size[d] : b->size[d];
                back[d] = n_left;
                left[n_left++] = d;
            }
            if (class_of[d] == right_order[k])
                right[n_right++] = d;
        }
    MT_TRY(as_three(&left3, a, left, (const int64_t[]){total[SHARED], total[LEFT], total[SUMMED]}));
    MT_TRY(as_three(&right3, b, right, (const int64_t[]){total[SHARED], total[SUMMED], total[RIGHT]}));
    MT_TRY(mt_bmm(&product, left3, right3));
    MT_TRY(mt_view(&shaped, product, (mt_ints){size, n}));
    MT_TRY(mt_permute(out, shaped, (mt_ints){back, n}));
    rc = 0;
fail:
    mt_tensor_clear(&left3);
    mt_tensor_clear(&right3);
    mt_tensor_clear(&product);
    mt_tensor_clear(&shaped);
    return rc;
}

/* Sums the dims that only *inout has. */
static int sum_alone(mt_tensor **inout, const int64_t *dims, int n)
{
    mt_tensor *sum = NULL;

    if (n == 0)
        return 0;
    if (mt_sum_dim_IntList(&sum, *inout, (mt_ints){dims, n}, true, MT_DTYPE_NONE) < 0)
        return -1;
    mt_tensor_unref(*inout);
    *inout = sum;
    return 0;
}

/* Does the first kept dim that only one side has belong to b? Then b goes to the left, so that the result needs no
   reordering. */
static bool should_swap(const mt_tensor *a, const mt_tensor *b, const bool *contract)
{
    for (int d = 0; d < a->ndim; d++)
        if (!contract[d] && (a->size[d] == 1) != (b->size[d] == 1))
            return a->size[d] == 1;
    return false;
}

/* operand[0] and operand[1] (owned) become *out; `rest` are the operands that remain. */
static int contract_pair(mt_tensor **out, mt_tensor **pair, mt_tensor *const *rest, int n_rest, int n_out)
{
    int64_t only_a[MT_MAX_DIM], only_b[MT_MAX_DIM];
    bool contract[MT_MAX_DIM] = {false}, any = false;
    int n_a = 0, n_b = 0, n = pair[0]->ndim;

    for (int d = n_out; d < n; d++) {
        bool in_a = pair[0]->size[d] != 1, in_b = pair[1]->size[d] != 1, elsewhere = false;

        for (int i = 0; i < n_rest; i++)
            elsewhere |= rest[i]->size[d] != 1;
        if (elsewhere)
            continue;
        contract[d] = in_a && in_b;
        any |= contract[d];
        if (in_a && !in_b)
            only_a[n_a++] = d;
        else if (in_b && !in_a)
            only_b[n_b++] = d;
    }
    if (sum_alone(&pair[0], only_a, n_a) < 0 || sum_alone(&pair[1], only_b, n_b) < 0)
        return -1;
    if (any && should_swap(pair[0], pair[1], contract))
        return multiply_and_sum(out, pair[1], pair[0], contract);
    if (any)
        return multiply_and_sum(out, pair[0], pair[1], contract);
    return mt_mul(out, pair[0], pair[1]);
}

/* The two operands of a step move to the front; the result goes to the end. */
static int run_path(mt_tensor_list *ops, mt_ints path, int n_out)
{
    int left = ops->n;

    for (int step = 0; left > 1; step++, left--) {
        int64_t i = path.n > 2 * step + 1 ? path.data[2 * step] : 0,
                j = path.n > 2 * step + 1 ? path.data[2 * step + 1] : 1;
        mt_tensor *pair[2], *result = NULL;
        int rc, kept = 0;

        if (i < 0 || j < 0 || i >= left || j >= left || i == j)
            return mt_error_set(MT_ERR_RUNTIME, "einsum(): invalid path step (%lld, %lld) for %d operands",
                                (long long)i, (long long)j, left);
        pair[0] = ops->data[i < j ? i : j];
        pair[1] = ops->data[i < j ? j : i];
        for (int k = 0; k < left; k++)
            if (k != i && k != j)
                ops->data[kept++] = ops->data[k];
        for (int k = kept; k < left; k++)
            ops->data[k] = NULL;
        rc = contract_pair(&result, pair, ops->data, kept, n_out);
        mt_tensor_unref(pair[0]);
        mt_tensor_unref(pair[1]);
        if (rc < 0)
            return -1;
        ops->data[kept] = result;
    }
    return 0;
}

/* Drops the dims that are not part of the output: sums them for a single operand, else they have size 1. */
static int finish(mt_tensor **out, mt_tensor *t, const equation *e)
{
    int64_t dims[MT_MAX_DIM];
    bool single = e->n_operands == 1;
    int n = 0;

    for (int d = e->n_out; d < e->n_dims; d++)
        dims[n++] = d;
    if (n == 0) {
        *out = mt_tensor_ref(t);
        return 0;
    }
    if (single)
        return mt_sum_dim_IntList(out, t, (mt_ints){dims, n}, false, MT_DTYPE_NONE);
    return mt_reshape(out, t, (mt_ints){t->size, e->n_out});
}

int mt_impl_einsum(mt_tensor **out, const char *equation_text, mt_tensors tensors, mt_ints path)
{
    equation e = {.n_operands = 0};
    mt_tensor_list ops = {NULL, 0};
    int rc = -1;

    *out = NULL;
    MT_REQUIRE(tensors.n > 0, MT_ERR_RUNTIME, "einsum(): must provide at least one operand");
    MT_REQUIRE(tensors.n <= MAX_OPERANDS, MT_ERR_RUNTIME, "einsum(): more than %d operands", MAX_OPERANDS);
    MT_TRY(read_equation(&e, equation_text, tensors.n));
    MT_TRY(count_labels(&e, tensors));
    MT_TRY(place_labels(&e));
    MT_TRY(mt_tensor_list_new(&ops, tensors.n));
    for (int i = 0; i < tensors.n; i++) {
        ops.data[i] = mt_tensor_ref(tensors.data[i]);
        MT_TRY(canonical(&ops.data[i], &e, i));
    }
    MT_TRY(run_path(&ops, path, e.n_out));
    MT_TRY(finish(out, ops.data[0], &e));
    rc = 0;
fail:
    mt_tensor_list_clear(&ops);
    return rc;
}
