/* Start-up of the logger: the seam between config.c, which reads the options, and log.c. */
#ifndef CUMU_CORE_LOGINIT_H
#define CUMU_CORE_LOGINIT_H

/* Reads all options if that has not happened; returns at once afterwards. Not to be called from
 * cumu_log_configure. */
void cumu_config_load(void);

/* levels: the text of CUMU_LOG; file: of CUMU_LOG_FILE ("" = stderr), kept by pointer; repeat: lines
 * per call site, 0 = no limit. Words it does not know are reported once the logger stands. */
void cumu_log_configure(const char *levels, const char *file, unsigned repeat);

#endif
