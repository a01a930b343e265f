/** Every bound on what a caller controls, in one table. Each cites where it comes from. */
export const LIMITS = {
  /** Request bodies on `/v1` and JSON bodies on `/api/v2`, after decompression. Decision 0007. */
  bodyBytesMax: 4 * 1024 * 1024,
  /** Nesting of free-form JSON (task config, scaling policy). Decision 0007. */
  jsonDepthMax: 64,
  /** Length of a URL with its query. Decision 0007. */
  urlBytesMax: 64 * 1024,
  /** How long a caller may take to send one request. Decision 0007. */
  requestMsMax: 5 * 60_000,
  /** Length of one path segment or job id in a path. Decision 0007. */
  pathParamCharsMax: 4096,
  /** Reference §1.4: default 5 minutes, cap 10 minutes, plus up to a sixteenth of jitter. */
  waitMsDefault: 5 * 60_000,
  waitMsMax: 10 * 60_000,
  waitJitterShare: 16,
  /** Blocking queries parked at once on one server. Decision 0007. */
  parkedQueriesMax: 50_000,
  /** Event streams open at once per token. Decision 0007. */
  streamsPerTokenMax: 64,
  /** Bytes an event stream's reader may lag behind before it is cut off. Decision 0007. */
  streamBacklogBytesMax: 16 * 1024 * 1024,
  /**
   * Page size of lists when the caller gives none is unlimited (Spec W: Limits); this caps a given
   * one.
   */
  perPageMax: 100_000,
  /** Spec W: Resources, ACL token; reference §6.4. */
  tokenNameCharsMax: 256,
  /** Reference §6.4: bounds of a token's life. */
  tokenTtlMsMin: 60_000,
  tokenTtlMsMax: 24 * 3_600_000,
  /** Reference §6.5: a one-time token lives ten minutes. */
  oneTimeTokenMs: 10 * 60_000,
  /** Reference §6.6. */
  descriptionCharsMax: 256,
  /** Spec W: Limits. At most the latest 10 task events are kept per task. */
  taskEventsMax: 10,
  /** Reference §4.8: a node keeps its latest 10 events. */
  nodeEventsMax: 10,
  /** Reference §2.3: versions of a job that are kept, and so its sources (Spec W: Limits). */
  jobVersionsMax: 6,
  /** Spec W: Limits. Sources of a job that are kept. */
  jobSourcesMax: 6,
  /** Reference §2.3: a larger source is registered without being kept. */
  jobSourceBytesMax: 1_000_000,
  /** Tagged versions are kept beyond the limit, so they need one of their own. Decision 0013. */
  jobTagsMax: 64,
  /** Scheduling reference §16. */
  tagDescriptionCharsMax: 1000,
  /** Values that one diff of jobs tells one by one. Decision 0013. */
  diffValuesMax: 100_000,
  /** Length of all diffs in one list of versions. Decision 0013. */
  diffsCharsMax: 64 * 1024 * 1024,
  /** Length of a job that comes out of a job file: a longer one fits no request. Decision 0016. */
  parsedJobCharsMax: 4 * 1024 * 1024,
  /** How long reading one job file may take, and how many may wait for it. Decision 0016. */
  jobFileMsMax: 2_000,
  jobFilesWaitingMax: 32,
  /** Memory of the thread that reads job files. Decision 0016. */
  jobFileMegabytesMax: 256,
  /** Reference §2.3: job_max_count. */
  jobCountMax: 50_000,
  /** Task groups and tasks of one job together. Decision 0020. */
  jobPartsMax: 2_000,
  /** Entries of all lists and maps of one job. Decision 0020. */
  jobEntriesMax: 10_000,
  /** Length of what a constraint or affinity compares with. Decision 0020. */
  constraintCharsMax: 65_536,
  /** Violations of one job that are told one by one. Decision 0020. */
  jobProblemsMax: 1_000,
  /** Spec W: Limits. Bytes of a dispatched payload, decoded. */
  dispatchPayloadBytesMax: 16_384,
  /** Cron expressions of one periodic job. Decision 0014. */
  periodicSpecsMax: 64,
  /** Reference §4.16: scaling events that are kept of a group. */
  scalingEventsMax: 20,
  /** Characters of message and metadata of one scaling event, as JSON. Decision 0014. */
  scalingEventCharsMax: 64 * 1024,
  /** Reference §8.2: evaluations that one request may delete by id. */
  deletedEvaluationsMax: 7_281,
  /** Reference §8.7: matches of one context of a search by prefix. */
  searchMatchesMax: 20,
  /** Rows that a search by prefix passes over in one context before it says that there are more. */
  searchRowsMax: 10_000,
  /** Reference §8.7: a fuzzy search needs this much text, and finds this much in each context. */
  fuzzyTextCharsMin: 2,
  fuzzyObjectsMax: 20,
  fuzzyResultsMax: 100,
  /** Rows that a fuzzy search looks at in one table, and what it ranks of one context. */
  fuzzyRowsMax: 50_000,
  fuzzyCandidatesMax: 2_000,
  /** Contract, explain: refusals and instances listed of a group, and groups of a job. */
  explainedItemsMax: 1_000,
  explainedGroupsMax: 100,
  /** Status updates one agent may send in one message. Decision 0007. */
  agentMessageBytesMax: 8 * 1024 * 1024,
} as const
