/** Limits on memory and time that a server could otherwise exhaust. */
export const LIMITS = {
  /** Default timeout of a whole call. */
  timeoutMsDefault: 60_000,
  /** Maximum delay of timers on all platforms. */
  timerMsMax: 2_147_483_647,
  /** Error bodies are read up to this length. */
  errorCharsMax: 64 * 1024,
  /** Maximum length of the server's text in the exception's message; `text` holds the full text. */
  messageCharsMax: 1_000,
  /**
   * Maximum length of an event line: the rows of one commit, and a job may have several megabytes.
   */
  eventLineCharsMax: 64 * 1024 * 1024,
  /** Maximum length of one frame of a followed file. */
  frameCharsMax: 4 * 1024 * 1024,
  /** Streams time out after three missed heartbeats; the server sends one every 30 s. */
  streamSilenceMsMax: 90_000,
  /** Wait of a blocking query: default and maximum. */
  waitMsDefault: 5 * 60_000,
  waitMsMax: 10 * 60_000,
  /**
   * Longest wait that the blocking iterator requests. Node's `fetch` times out after five minutes
   * without a response, and servers add up to a sixteenth to the wait.
   */
  waitMsAsked: 4 * 60_000,
  /** Poll interval for reads whose response has no index, which cannot be blocking queries. */
  pollMs: 5_000,
  retryMsMin: 250,
  retryMsMax: 30_000,
  /** Upper bound on a server's `Retry-After`. */
  retryAfterMsMax: 10 * 60_000,
  /** Page size of list iterators; the caller may override it. */
  pageSizeDefault: 100,
  /** Both sides send a heartbeat every 10 s and close the session after 60 s of silence. */
  execHeartbeatMs: 10_000,
  execSilenceMsMax: 60_000,
  /** Servers accept frames of 64 KiB; in base64 this is a third of one. */
  execChunkBytes: 16 * 1024,
  /** Writes block while more input than this is buffered. */
  execPendingBytesMax: 1024 * 1024,
  execDrainPollMs: 10,
  /**
   * Unread output that is buffered. A WebSocket has no back-pressure: beyond this the session is
   * closed.
   */
  execUnreadBytesMax: 64 * 1024 * 1024,
} as const
