/* The tool's part of compiling by MTRTC. */
#ifndef CUMU_CLI_MTRTC_H
#define CUMU_CLI_MTRTC_H

int cumu_mtrtc(int argc, char **argv); /* argv[0] is --mtrtc; the result is the exit status */

#endif
