/* An address that ranks reach each other by. */
#ifndef CUMU_HOST_MCCL_PLACE_H
#define CUMU_HOST_MCCL_PLACE_H

#include <stdint.h>

struct mccl_place {  /* of TCP, or an abstract Unix socket on this host */
    uint16_t family; /* AF_INET, AF_INET6, AF_UNIX, 0: none */
    uint16_t port;   /* host's order; of a Unix socket the bytes of its name, which is in `address` */
    uint32_t scope;  /* of a link-local address */
    unsigned char address[16];
};

#endif
