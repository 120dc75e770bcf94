/* SPDX-License-Identifier: Apache-2.0 */
/* One function a command; each returns panopy's exit status (exit_codes.h), and has told the user what
 * went wrong when it is not 0.
 */
#ifndef PANOPY_COMMANDS_H
#define PANOPY_COMMANDS_H

struct options;

/* `output` becomes the path written: another one where the default name was taken. */
int command_record(struct options *options);
int command_ps(const struct options *options);
int command_doctor(const struct options *options);

#endif
