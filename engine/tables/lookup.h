/* Lookups that are not one method's own. */
#ifndef WT_TABLES_LOOKUP_H
#define WT_TABLES_LOOKUP_H

#include "tables/method.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A bulk lookup that finds entries, then reads them all: their cache misses overlap too. */
wt_lookup_fn wt_pointed_bulk;

#ifdef __cplusplus
}
#endif
#endif
