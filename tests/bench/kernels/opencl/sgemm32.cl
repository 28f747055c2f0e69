// Matrix product by 32x32 tiles.
#define TILE 32
#include "sgemm_tile.h"
