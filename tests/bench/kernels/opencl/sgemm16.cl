// Matrix product by 16x16 tiles.
#define TILE 16
#include "sgemm_tile.h"
