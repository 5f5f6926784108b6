/* SPDX-License-Identifier: GPL-2.0 */
/*
 * notify.h - tells the service manager how far we are (sd_notify(3), Type=notify).  Port: one datagram.
 */
#ifndef PARTIES_NOTIFY_H
#define PARTIES_NOTIFY_H

/* "READY=1", "STOPPING=1".  Does nothing where no manager wants to know ($NOTIFY_SOCKET), or where it does not listen. */
void notify_manager(const char *state);

#endif
