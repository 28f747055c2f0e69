/* CUMU_RECORD_SYMBOLS: which CUDA functions a program asks for, as lines `SONAME SYMBOL` in a file. */
#ifndef CUMU_CORE_RECORD_H
#define CUMU_CORE_RECORD_H

/* This one was called, or asked for by name. The first call, and each after more libraries were loaded, also
 * notes what the objects in the process import. Off the hot path; nothing while the option is not set. */
void cumu_record_symbol(const char *soname, const char *name);

#endif
