/* Another device for a while: what a call does there leaves the thread's device and context as they were. */
#ifndef CUMU_API_VISIT_H
#define CUMU_API_VISIT_H

#include "api/api.h"

struct cumu_visit { /* all 0: nowhere */
    MUcontext context;
    int device;
    bool away;
};

/* A musaError; on an error nothing has changed and cumu_visit_end() does nothing. Where the device is current already,
 * so stays the context, which may be one that the program made by the driver API. */
int cumu_visit(struct cumu_visit *v, int device);
void cumu_visit_end(const struct cumu_visit *v);

#endif
