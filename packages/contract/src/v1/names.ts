/**
 * All wire names that another product spells with its vendor's name, so that aliases can be added
 * without changing logic.
 */

export const HEADERS = {
  /** Carries the secret of the caller's token. */
  token: 'X-Service-Token',
  /** Start of the next page; set only when there is one. */
  nextToken: 'X-Service-NextToken',
  /** The index to block on next. */
  index: 'X-Service-Index',
  /** The error code, which stays when the text is reworded (docs/reference/errors.md). */
  errorCode: 'X-Service-Error-Code',
  /** `true` if a list is truncated and has no further pages. */
  truncated: 'X-Service-Truncated',
  /** Whether the answering server knows a leader: `true` or `false`. */
  knownLeader: 'X-Service-KnownLeader',
  /** Whole milliseconds since the answering server heard from the leader. */
  lastContact: 'X-Service-LastContact',
  /** The calling program, `cli` or `web`; job versions record it as their origin. */
  client: 'X-Service-Client',
} as const

/** The root of every path of the workload API. */
export const V1_ROOT = '/v1'

/** Prefix of the environment variables of tasks. */
export const TASK_ENVIRONMENT_PREFIX = 'REEVE_'

/** Prefix of environment variables that set variables of job files, for the CLI. */
export const VARIABLE_ENVIRONMENT_PREFIX = 'REEVE_VAR_'

/** Wire name of the built-in service catalog; `native` is accepted as an alias. */
export const SERVICE_PROVIDER = 'service'
export const SERVICE_PROVIDER_ALIAS = 'native'

/** An external service catalogue. */
export const DISCOVERY_PROVIDER = 'discovery'

/** Node attribute that holds the version of the agent. */
export const AGENT_VERSION_ATTRIBUTE = 'service.version'

/** Prefix of metric names. */
export const METRIC_PREFIX = 'service.'

/**
 * Prefix of variables that are reserved for workloads, and the prefix of those that they may read.
 */
export const RESERVED_VARIABLE_PREFIX = 'service/'
export const WORKLOAD_VARIABLE_PREFIX = 'service/jobs'
/** Below it are the variables that policies on jobs may read. */
export const POLICY_VARIABLE_PREFIX = 'service/native'

export const DEFAULT_NAMESPACE = 'default'
/** Stands for all namespaces that the caller may read. */
export const ALL_NAMESPACES = '*'

export const DEFAULT_NODE_POOL = 'default'
/** The built-in pool that contains all nodes. */
export const ALL_NODE_POOL = 'all'

/** In a job, stands for the region of the receiving agent. */
export const GLOBAL_REGION = 'global'

/** Accessor ID of callers without a token, and the name of their optional policy. */
export const ANONYMOUS_ACCESSOR_ID = 'anonymous'
export const ANONYMOUS_POLICY = 'anonymous'
