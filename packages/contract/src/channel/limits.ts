/*
 * Apart from the messages, so that programs that need only the limit do not load their schemas: the
 * limits of the servers are part of every command.
 */

/**
 * Maximum size of a message; a larger one closes the channel. A job may be 4 MiB, so an allocation
 * with its job always fits.
 */
export const CHANNEL_MESSAGE_BYTES_MAX = 8 * 1024 * 1024
