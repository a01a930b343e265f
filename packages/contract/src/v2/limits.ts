/**
 * The limits of the governance API. Schemas, server and web UI read them here.
 */

// Project name length 3 to 40 characters.
export const PROJECT_NAME_LENGTH_MIN = 3
export const PROJECT_NAME_LENGTH_MAX = 40

// Project description at most 256 characters.
export const PROJECT_DESCRIPTION_LENGTH_MAX = 256

// 10 tag bindings per project, and as many of its own per workspace.
export const TAG_BINDINGS_MAX = 10

// Tag key 128 characters, tag value 256 characters.
export const TAG_KEY_LENGTH_MAX = 128
export const TAG_VALUE_LENGTH_MAX = 256

/**
 * Two reserved key prefixes are rejected, ignoring case. The prefixes are specific to this
 * product; an installation may configure its own list.
 */
export const RESERVED_TAG_PREFIXES = ['sys:', 'reeve:'] as const

// Policy upload 10 MB, read as 10 MiB inclusive: one byte more is 413 and nothing is saved.
export const POLICY_UPLOAD_BYTES_MAX = 10 * 1024 * 1024

// Default page size 20. Larger sizes than 100 are clamped.
export const PAGE_SIZE_DEFAULT = 20
export const PAGE_SIZE_MAX = 100

// Maximum size of a JSON body; a larger one is rejected with 413.
export const JSON_BODY_BYTES_MAX = 1024 * 1024

// One error object per violated rule, never more than 20.
export const ERRORS_MAX = 20

// 16 random characters after the prefix of an identifier.
export const ID_SUFFIX_LENGTH = 16

// 30 requests per second and user, or per source address when unauthenticated.
export const REQUESTS_PER_SECOND_MAX = 30

// Organization names have 3 to 40 characters.
export const ORGANIZATION_NAME_LENGTH_MIN = 3
export const ORGANIZATION_NAME_LENGTH_MAX = 40

// RFC 5321, 4.5.3.1.3: no deliverable address is longer.
export const EMAIL_LENGTH_MAX = 254

// Policy and workspace names have 1 to 90 characters; sets, teams and users follow them.
export const NAME_LENGTH_MAX = 90

// No documented limit for Markdown descriptions; this one keeps list pages small.
export const DESCRIPTION_LENGTH_MAX = 4096

/** A policy query is one reference into a document; nothing legitimate comes near this length. */
export const POLICY_QUERY_LENGTH_MAX = 1024

/**
 * The deprecated `enforce` list has one entry; clients that send more are accepted up to this
 * number.
 */
export const ENFORCE_ENTRIES_MAX = 10

// The last 20 uploads of a policy are kept.
export const POLICY_VERSIONS_KEPT_MAX = 20

// At most 500 workspaces move in one request.
export const MOVED_WORKSPACES_MAX = 500

/** Resource identifiers in one relationship of a request. */
export const RELATED_ITEMS_MAX = 500

/** Tag selectors of one policy set, and `policy-update-patterns` of one policy set. */
export const TAG_SELECTORS_MAX = 100
export const UPDATE_PATTERNS_MAX = 100

/** A parameter carries configuration, not data: 64 Ki characters. */
export const PARAMETER_KEY_LENGTH_MAX = 256
export const PARAMETER_VALUE_LENGTH_MAX = 64 * 1024

/** Parameters of one policy set: every policy in it receives all of them. */
export const POLICY_SET_PARAMETERS_MAX = 500

// A plan upload may have 50 MiB; a run without an upload becomes `errored` after an hour.
export const PLAN_UPLOAD_BYTES_MAX = 50 * 1024 * 1024
export const PLAN_UPLOAD_WAIT_MS_MAX = 60 * 60 * 1000

/** The archive of a policy set version holds many policies, so it may be as large as a plan. */
export const POLICY_SET_ARCHIVE_BYTES_MAX = 50 * 1024 * 1024

/** Maximum unpacked size of the archive, and number of policies in it. */
export const POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX = 2 * POLICY_SET_ARCHIVE_BYTES_MAX
export const POLICY_SET_VERSION_POLICIES_MAX = 500

/** Maximum size of the manifest in the archive: the entries of all policies, with descriptions. */
export const POLICY_SET_MANIFEST_BYTES_MAX = 256 * 1024

/** Previous versions of one policy set that are kept. */
export const POLICY_SET_VERSIONS_KEPT_MAX = 20

/** The archive of a configuration: its size packed and unpacked, and its number of entries. */
export const CONFIGURATION_BYTES_MAX = 100 * 1024 * 1024
export const CONFIGURATION_UNPACKED_BYTES_MAX = 1024 * 1024 * 1024
export const CONFIGURATION_ENTRIES_MAX = 100_000

/** Variables of one workspace or one variable set: every run receives all of them. */
export const VARIABLES_MAX = 500

/** Variable sets of one organization. */
export const VARIABLE_SETS_MAX = 1_000

/** Notification configurations of one workspace. */
export const NOTIFICATION_CONFIGURATIONS_MAX = 20

/** Sources of one workspace, and workspaces that one source triggers. */
export const RUN_TRIGGERS_MAX = 20

/** Workspaces that a workspace names as readers of its outputs; the list is part of its row. */
export const REMOTE_STATE_CONSUMERS_MAX = 200

/**
 * Configuration versions of one workspace that are kept; the oldest that no run references are
 * deleted first.
 */
export const CONFIGURATION_VERSIONS_KEPT_MAX = 100

/** Maximum size of a state and of its JSON form, and of a state sent as base64 in a document. */
export const STATE_BYTES_MAX = 100 * 1024 * 1024
export const INLINE_STATE_BYTES_MAX = 16 * 1024 * 1024

/** Outputs of one state, and resources listed for it. */
export const STATE_OUTPUTS_MAX = 10_000
export const STATE_RESOURCES_SHOWN_MAX = 5_000

/** State versions of one workspace that are kept; the current one is always kept. */
export const STATE_VERSIONS_KEPT_MAX = 100

/** Lifetime of an upload URL. Each may be used once. */
export const UPLOAD_URL_MS_MAX = 60 * 60 * 1000

/** Runs of one workspace that are kept; the oldest finished ones are deleted first. */
export const RUNS_KEPT_MAX = 100

/** Subjects on one page of a replay, and the total size of plans after which the page ends. */
export const REPLAY_PAGE_DEFAULT = 20
export const REPLAY_PAGE_MAX = 50
export const REPLAY_PAGE_BYTES_MAX = 20 * 1024 * 1024

// Longest wait of a blocking read of a run.
export const RUN_WAIT_SECONDS_MAX = 60

/** Addresses (`target-addrs`, `replace-addrs`) and variables of one run. */
export const RUN_ADDRESSES_MAX = 1000
export const RUN_VARIABLES_MAX = 1000

/** Length of comments: run messages, lock reasons, override comments. */
export const COMMENT_LENGTH_MAX = 4096

/** Paths, URLs, tool versions, resource addresses: one line of text. */
export const LINE_LENGTH_MAX = 1024

// Organization and team tokens expire two years after creation unless `expired-at` is given.
export const TOKEN_LIFETIME_YEARS_DEFAULT = 2

/** Log of a phase: size of one write, and size kept. */
export const RUN_LOG_CHUNK_BYTES_MAX = 1024 * 1024
export const RUN_LOG_BYTES_MAX = 256 * 1024 * 1024

/** Log of a phase: size of one read, and its longest wait for data. */
export const RUN_LOG_READ_BYTES_MAX = 1024 * 1024

/** States are larger than plans: 256 MiB are a hundred thousand resources. */
export const RUN_STATE_BYTES_MAX = 256 * 1024 * 1024

/** Time after which a cancelled run that has not ended may be force-cancelled. */
export const FORCE_CANCEL_WAIT_MS = 60_000

/** Phases of one organization that execute concurrently, and runs that may be pending. */
export const RUN_PHASES_AT_ONCE_MAX = 10
export const RUNS_PENDING_MAX = 1_000
