/* Probes of the forms that a toolkit may have of its own. */
#ifndef CUMU_CLI_NATIVE_H
#define CUMU_CLI_NATIVE_H

/* All of them, with a line each on stdout. */
void cumu_doctor_native(void);
/* cumu-tool --native mp_NN [all], which the shim calls: matrix products only, or all. An exit status. */
int cumu_native(int argc, char **argv);

#endif
