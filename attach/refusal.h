/* windtunnel-inject ends here with what it cannot do. */
#ifndef WT_ATTACH_REFUSAL_H
#define WT_ATTACH_REFUSAL_H

/* Prints "error: " with the sentence, and the remedy below it, and exits with 2. */
_Noreturn void wt_refuse(const char *remedy, const char *sentence, ...) __attribute__((format(printf, 2, 3)));

#define WT_RESTART "start the application with LD_PRELOAD=LIBRARY, or with EAL's option -d LIBRARY"

#endif
