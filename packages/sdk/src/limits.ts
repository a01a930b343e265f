/** Bounds of everything that a server could otherwise make grow or wait without end. */
export const LIMITS = {
  /** Of the whole call unless the caller says otherwise. */
  timeoutMsDefault: 60_000,
  /** The longest delay that timers of the platforms take. */
  timerMsMax: 2_147_483_647,
  /** An error is a line or a short document; the rest of a longer body is not read. */
  errorCharsMax: 64 * 1024,
  /** Of an error's text in the message of the exception; `text` holds all of it. */
  messageCharsMax: 1_000,
  /** One line of the event stream: the rows of one commit, of which a job may be some megabytes. */
  eventLineCharsMax: 64 * 1024 * 1024,
  /** One frame of a followed file. */
  frameCharsMax: 4 * 1024 * 1024,
  /** A heartbeat comes every 30 s, so this is three of them missed. */
  streamSilenceMsMax: 90_000,
  /** How long a blocking query is held when it does not say, and at most. */
  waitMsDefault: 5 * 60_000,
  waitMsMax: 10 * 60_000,
  /**
   * What the blocking iterator asks for at most. Node's `fetch` gives up after five minutes without
   * an answer, and servers add a sixteenth to what they are asked.
   */
  waitMsAsked: 4 * 60_000,
  /** Between two polls of a read that answers without an index and so cannot be blocked on. */
  pollMs: 5_000,
  retryMsMin: 250,
  retryMsMax: 30_000,
  /** A server may ask for more patience than that, but not for any. */
  retryAfterMsMax: 10 * 60_000,
  /** Items asked for at once when a list is walked; the caller may choose another size. */
  pageSizeDefault: 100,
  /** Both sides send a heartbeat every 10 s and give up after 60 s of silence. */
  execHeartbeatMs: 10_000,
  execSilenceMsMax: 60_000,
  /** Servers take frames of 64 KiB; in base64 this is a third of one. */
  execChunkBytes: 16 * 1024,
  /** Input that the network has not taken yet; more than this waits. */
  execPendingBytesMax: 1024 * 1024,
  execDrainPollMs: 10,
  /** Output that nobody has read. A WebSocket cannot be told to wait: more ends the session. */
  execUnreadBytesMax: 64 * 1024 * 1024,
} as const
