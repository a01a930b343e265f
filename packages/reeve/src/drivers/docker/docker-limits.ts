/** Every bound and every wait of pulls, registry logins and pause containers. */
export const DOCKER_LIMITS = {
  /** Progress is told in lines of some hundred bytes; a longer one is dropped. */
  progressLineCharsMax: 64 * 1024,
  /** Layers whose progress is counted. Engines take images of at most 127. */
  layersMax: 256,
  /** When a pull is first reported again; each pause after that is twice as long. */
  pullReportInitialDelayMs: 10_000,
  /** The longest pause between two reports: only the newest ten events of a task are kept. */
  pullReportMaxDelayMs: 10 * 60_000,
  /** How long a credential helper may take: some ask a service of the cloud. */
  credentialHelperTimeoutMs: 30_000,
  /** What a credential helper may print; a login is some kilobytes at most. */
  credentialHelperOutputBytesMax: 64 * 1024,
  /** How long an archive may take to be loaded. */
  imageLoadTimeoutMs: 10 * 60_000,
  /** What is shown of a text that a registry or a helper wrote. */
  externalTextCharsMax: 1_000,
  /** A pause container has one process; engines count their own helpers for a moment. */
  pausePidsMax: 16,
  /** How long a pause container may take from its start until it has joined a namespace. */
  pauseJoinTimeoutMs: 10_000,
  pauseJoinPollIntervalMs: 10,
} as const
