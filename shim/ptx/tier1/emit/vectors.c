/* Tier 1 emitter: vectors, one a lane, move as the words that they are: whole rows where they follow one another, else
 * each lane's at once. Elements are cut out of words and put together to them. */
#include "ptx/tier1/emit/access.h"

enum { MOST = 4, MOST_AHEAD = 1024 };

/* The words that narrow elements make, or one half of a word. */
static struct t1_access as_words(const struct t1_access *x, unsigned n, unsigned *words)
{
    struct t1_access w = *x;
    const unsigned bytes = n * x->size;
    w.size = bytes < 4 ? bytes : 4;
    w.t = bytes < 4 ? "u16" : "u32";
    *words = bytes / w.size;
    return w;
}

/* Whether the machine has a way for such vectors that beats each element's own. */
static bool as_rows(const struct t1_emit *e, const struct t1_access *x, unsigned n)
{
    if (x->size == 8)
        return e->isa == T1_AVX512 && n == 2;
    const bool members = n == 2 && t1_in_structures(x) && x->address.stride != 8;
    return x->size == 4 && (n == 2 || n == 4) && e->isa != T1_PLAIN && !(e->isa == T1_AVX512 && members);
}

/* The answer whether the vectors of all lanes follow one another, in each half if these have scalars of their own;
 * NULL: they do not, or it is not worth asking. */
static const char *follow_one_another(struct t1_emit *e, const struct t1_access *x, unsigned n)
{
    const struct t1_arg *a = &x->address;
    if (a->rep == T1_V)
        return e->isa == T1_AVX512 ? t1_ask_for_row(e, x, n * x->size) : NULL; /* else it gains nothing */
    if (a->stride != (int64_t)(n * x->size) || (a->rep == T1_G && e->isa != T1_AVX512))
        return NULL;
    return t1_str(e, "!~%s", e->mask);
}

/* Where the row begins in which piece *j is, which becomes its number there. */
static const char *row_of(struct t1_emit *e, const struct t1_access *x, unsigned *j)
{
    const unsigned pieces = x->wide ? 2 * e->np : e->np;
    if (x->address.rep == T1_V)
        return t1_in_row(e, x, 0);
    const unsigned h = x->address.rep == T1_G ? t1_group(e, pieces, *j) : 0;
    *j = x->address.rep == T1_G ? *j % (pieces / 2) : *j;
    return t1_pointer(e, x, h, 0);
}

/* Whether such a way goes by one address and a stride, too. */
static bool walks(const struct t1_emit *e, const struct t1_access *x, unsigned n)
{
    return e->isa == T1_AVX512 && x->address.rep == T1_U && !x->local && (n == 4 || x->wide);
}

/* What the next warp moves by such a way, if it is no more than a page's part. */
static void walk_ahead(struct t1_emit *e, const struct t1_access *x, const char *start, bool store)
{
    const int64_t bytes = 32 * x->address.stride;
    if (bytes > 0 && bytes <= MOST_AHEAD && t1_first_ahead(e, x))
        t1_put(e, "t1_walk_ahead(%s + %lld, %lld, %d);\n", start, (long long)bytes, (long long)bytes, store);
}

/* Declares the lanes' pointers, `p`. */
static void point(struct t1_emit *e, const struct t1_access *x, bool load)
{
    const struct t1_arg in_local = x->local ? t1_in_local(e, &x->address, '+') : x->address;
    t1_pointers(e, "p", &in_local, x->shared, x->imm, load);
}

const char *t1_load_vector(struct t1_emit *e, const struct t1_access *x, unsigned n, unsigned used)
{
    unsigned words = n;
    const bool narrow = x->size < 4;
    const struct t1_access w = narrow ? as_words(x, n, &words) : *x;
    const unsigned pieces = w.wide ? 2 * e->np : e->np;
    const char *type = w.wide ? "pu64" : "pu32";
    if (!narrow && !as_rows(e, &w, words))
        return NULL;
    const char *const name = t1_str(e, "t%u", e->temps++);
    if (words == 1 || !as_rows(e, &w, words)) {
        struct t1_access one = w;
        for (unsigned j = 0; j < words; j++, one.imm += 4) {
            const struct t1_pieces p = t1_load_pieces(e, &one);
            for (unsigned k = 0; k < pieces; k++) {
                const char *s = t1_next_piece(e, &one, &p, k);
                t1_put(e, "const %s %s_%u_%u = %s;\n", type, name, j, k, s);
            }
        }
        return name;
    }
    const unsigned r = e->temps++;
    const char *const row = follow_one_another(e, &w, words);
    unsigned whole = 0;
    const bool walk = !row && walks(e, &w, words);
    t1_put(e, "%s t%u[%u];\n", type, r, words * pieces);
    if (walk)
        walk_ahead(e, &w, row_of(e, &w, &whole), false);
    if (row && e->isa == T1_AVX2)
        t1_put(e, "if (T1_LIKELY(%s)) t1_row_get%u(t%u, %s);\nelse ", row, words, r, row_of(e, &w, &whole));
    else if (row)
        t1_put(e, "if (T1_UNLIKELY(!(%s))) ", row);
    else if (walk)
        t1_put(e, "if (T1_LIKELY(!~%s)) t1_walk_get%u_%s(t%u, %s, %lld);\nelse ", e->mask, words, w.t, r,
               row_of(e, &w, &whole), (long long)w.address.stride);
    t1_put(e, "{\n");
    point(e, &w, true);
    t1_put(e, "t1_get%u_%s(t%u, (const uint8_t *const *)p);\n}\n", words, w.t, r);
    for (unsigned j = 0; j < words; j++)
        for (unsigned k = 0; k < pieces && (narrow || used >> j & 1); k++) {
            const char *s = t1_str(e, "t%u[%u]", r, j * pieces + k);
            if (row && e->isa == T1_AVX512) {
                unsigned in = k;
                const char *start = row_of(e, &w, &in);
                s = t1_str(e, "%s ? t1_row%u_%s(%s, %u, %u) : %s", row, words, w.t, start, j, in, s);
            }
            t1_put(e, "const %s %s_%u_%u = %s;\n", type, name, j, k, s);
        }
    return name;
}

/* Words of narrow elements, as temporaries. */
static void put_together(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v, unsigned n,
                         struct t1_arg *word, unsigned words)
{
    const unsigned each = n / words, bits = 8 * x->size;
    for (unsigned j = 0; j < words; j++) {
        word[j] = (struct t1_arg){.kind = T1_K_32, .rep = T1_V, .v = t1_str(e, "t%u", e->temps++)};
        for (unsigned k = 0; k < e->np; k++) {
            t1_put(e, "const pu32 %s_%u = ", word[j].v, k);
            for (unsigned i = 0; i < each; i++)
                t1_put(e, "%s(%s & 0x%xu) << %u", i ? " | " : "", t1_piece(e, &v[each * j + i], k), (1u << bits) - 1,
                       bits * i);
            t1_put(e, ";\n");
        }
    }
}

void t1_store_vector(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v, unsigned n)
{
    unsigned words = n;
    struct t1_access w = *x;
    struct t1_arg word[2 * MOST];
    if (x->size < 4) {
        w = as_words(x, n, &words);
        put_together(e, x, v, n, word, words);
        v = word;
    }
    if (words == 1 || !as_rows(e, &w, words)) {
        for (unsigned k = 0; k < words; k++, w.imm += w.size)
            t1_store_element(e, &w, &v[k]);
        return;
    }
    const unsigned pieces = w.wide ? 2 * e->np : e->np;
    const char *const row = follow_one_another(e, &w, words);
    unsigned whole = 0;
    if (row && e->isa == T1_AVX512) {
        t1_put(e, "if (T1_LIKELY(%s)) {\n", row);
        for (unsigned k = 0; k < pieces; k++) {
            unsigned in = k;
            const char *start = row_of(e, &w, &in);
            t1_put(e, "t1_row%u_put_%s(%s, %u", words, w.t, start, in);
            for (unsigned j = 0; j < words; j++)
                t1_put(e, ", %s", t1_piece(e, &v[j], k));
            t1_put(e, ");\n");
        }
        t1_put(e, "} else ");
    }
    t1_put(e, "{\n%s r[%u] = {", w.wide ? "pu64" : "pu32", words * pieces);
    for (unsigned j = 0; j < words; j++)
        for (unsigned k = 0; k < pieces; k++)
            t1_put(e, "%s, ", t1_piece(e, &v[j], k));
    t1_put(e, "};\n");
    if (row && e->isa == T1_AVX2)
        t1_put(e, "if (T1_LIKELY(%s)) t1_row_put%u(%s, r);\nelse ", row, words, row_of(e, &w, &whole));
    if (!row && walks(e, &w, words)) {
        walk_ahead(e, &w, row_of(e, &w, &whole), true);
        t1_put(e, "t1_walk_put%u_%s(%s, %lld, r, %s);\n}\n", words, w.t, row_of(e, &w, &whole),
               (long long)w.address.stride, e->mask);
        return;
    }
    t1_put(e, "{\n");
    point(e, &w, false);
    t1_put(e, "t1_put%u_%s((uint8_t *const *)p, r, %s);\n}\n}\n", words, w.t, e->mask);
}

/* The other way of lanes' eight words: four and four, wherever they lie. */
static void by_fours(struct t1_emit *e, const struct t1_access *x, unsigned r, bool load)
{
    struct t1_access four = *x;
    for (unsigned k = 0; k < 2; k++, four.imm += 16) {
        t1_put(e, "{\n");
        point(e, &four, load);
        if (load)
            t1_put(e, "t1_get4_u32(t%u + %u, (const uint8_t *const *)p);\n}\n", r, 8 * k);
        else
            t1_put(e, "t1_put4_u32((uint8_t *const *)p, t%u + %u, %s);\n}\n", r, 8 * k, e->mask);
    }
}

const char *t1_load_rows(struct t1_emit *e, const struct t1_access *x)
{
    const unsigned t = e->temps++, r = e->temps++;
    unsigned whole = 0;
    const char *start = row_of(e, x, &whole);
    walk_ahead(e, x, start, false);
    t1_put(e, "pu32 t%u[16];\nif (T1_LIKELY(!~%s)) t1_rows_get8(t%u, %s);\nelse {\n", r, e->mask, r, start);
    by_fours(e, x, r, true);
    t1_put(e, "}\n");
    for (unsigned k = 0; k < 16; k++)
        t1_put(e, "const pu32 t%u_%u_%u = t%u[%u];\n", t, k / 2, k % 2, r, k);
    return t1_str(e, "t%u", t);
}

void t1_store_rows(struct t1_emit *e, const struct t1_access *x, const struct t1_arg *v)
{
    const unsigned r = e->temps++;
    unsigned whole = 0;
    const char *start = row_of(e, x, &whole);
    walk_ahead(e, x, start, true);
    t1_put(e, "{\nconst pu32 t%u[16] = {", r);
    for (unsigned k = 0; k < 16; k++)
        t1_put(e, "%s, ", t1_piece(e, &v[k / 2], k % 2));
    t1_put(e, "};\nif (T1_LIKELY(!~%s)) t1_rows_put8(%s, t%u);\nelse {\n", e->mask, start, r);
    by_fours(e, x, r, false);
    t1_put(e, "}\n}\n");
}
