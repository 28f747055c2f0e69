/* Structs by value as the ABI sees them: what counts is size and class of register. Generated
 * code that forwards arguments without looking at them uses these in place of the real types. */
#ifndef CUMU_ABI_VALUES_H
#define CUMU_ABI_VALUES_H

struct cumu_s8 {
    int at[2];
};
struct cumu_s12 {
    int at[3];
};
struct cumu_s16 {
    long at[2];
};
struct cumu_s20 {
    int at[5];
};
struct cumu_s24 {
    long at[3];
};
struct cumu_s32 {
    long at[4];
};
struct cumu_s48 {
    long at[6];
};
struct cumu_s64 {
    long at[8];
};
struct cumu_s128 {
    long at[16];
};
struct cumu_f8 {
    float at[2];
};
struct cumu_f16 {
    double at[2];
};
struct cumu_m16 {
    long whole;
    double real;
};

#endif
