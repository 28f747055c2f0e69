/* What generated callers and callees share: argument bytes made by one, recorded by the other. */
#ifndef CUMU_TEST_RECORDER_H
#define CUMU_TEST_RECORDER_H

#include <stddef.h>

#include "abi/values.h"

void start(int function, int time);         /* a new call; its values depend on both */
void make_value(void *at, size_t size);     /* next argument, caller's side */
void record(const void *at, size_t size);   /* next argument, as it arrived */
void make_result(void *at, size_t size);    /* callee's result */
void returned(const void *at, size_t size); /* the result as the caller got it */
void finish(const char *callee);
void check_stub(int code);
int verdict(void);
extern void *const callees[];

#endif
