/* cumu check: what the name of a wheel says about who can install it. */
#ifndef CUMU_CLI_WHEEL_H
#define CUMU_CLI_WHEEL_H

/* Says on stderr if the wheel is for another Python than the first python3 on PATH (versions 3.N), or for another
 * system than Linux; nothing for other files, and where either is not known. Tags: the Python Packaging User Guide's
 * "Platform compatibility tags". */
void cumu_wheel_look(const char *path);

#endif
