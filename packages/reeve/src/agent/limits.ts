/** Every bound and every wait of the node agent, in one table. */
export const AGENT_LIMITS = {
  /**
   * Reference scheduling §28: the longest a task may ask for between the kill signal and the forced
   * end.
   */
  killTimeoutMsMax: 30_000,
  /**
   * Reference scheduling §28: how often a kill is tried before the task is given up with its error.
   */
  killAttemptsMax: 5,
  killRetryMsFirst: 1_000,
  /** How long an exit may take to be known after every process of the task is gone. */
  exitKnownMsMax: 10_000,
  /** How long changes of an allocation that need not be saved at once are gathered. */
  saveMs: 200,
  /** Length of one text in a task event; the rest is cut. */
  eventTextCharsMax: 4_096,
  /** Starts under way at once: each is a fork of the agent's process. */
  startsInFlightMax: 8,
  /** Linux takes at most 128 KiB in one argument or variable; more could never be started. */
  interpolatedCharsMax: 128 * 1024,
  /** All arguments and variables of one task together; Linux takes 2 MiB. */
  interpolatedTotalCharsMax: 2 * 1024 * 1024,
  /** Depth of a driver's configuration. */
  configDepthMax: 32,
  /** A task's name is part of file names of up to 255 bytes. */
  taskNameBytesMax: 200,
  /** Reference scheduling §22: pause before dialling again, doubling up to the maximum. */
  reconnectMsFirst: 250,
  reconnectMsMax: 30_000,
  /** How long a server may take to be reached, and then to answer the greeting. */
  dialMsMax: 10_000,
  greetingMsMax: 10_000,
  /** How long a status report may stay without its receipt before the channel counts as broken. */
  receiptMsMax: 30_000,
  /** The channel counts as broken when nothing arrives for this many heartbeats. */
  silentHeartbeatsMax: 3,
  /** Bounds on what a server may ask for as the time between heartbeats. */
  heartbeatMsMin: 100,
  heartbeatMsMax: 10 * 60_000,
  /** Allocations in one status report. */
  reportedAllocationsMax: 256,
  /** Messages received and not yet acted on; past this the channel is dropped and begins anew. */
  unreadMessagesMax: 1_024,
  /** Reference scheduling §23: drivers are probed again every 30 s. */
  fingerprintMs: 30_000,
  /** How long a driver may take to answer a probe before it counts as unhealthy. */
  probeMsMax: 10_000,
  /** Size of one file of the agent's own state; a job is at most 4 MiB (model limits). */
  stateFileBytesMax: 32 * 1024 * 1024,
} as const
