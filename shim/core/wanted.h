/* How the core asks the audit module where a program went for a library: it opens CUMU_WANTED "libx.so.1",
 * and the loader gets the path that the module had led to that facade. No such file exists. */
#ifndef CUMU_CORE_WANTED_H
#define CUMU_CORE_WANTED_H

#define CUMU_WANTED "/cumu-wanted/"

#endif
