/* Ends C++ exceptions that a library below throws through its C interface: a C program would be terminated. */
#ifndef CUMU_CORE_GUARD_H
#define CUMU_CORE_GUARD_H

/* fn(arg), or `thrown` if an exception came out of it. Any thread; may be nested. */
int cumu_guarded(int (*fn)(void *arg), void *arg, int thrown);

#endif
