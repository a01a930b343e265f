/**
 * Every wire name that another product spells with its vendor's name is written here and nowhere
 * else, so that an alias table can be added without touching
 * logic.
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
  /** `true` when a list holds only a part of what there is, and the rest cannot be asked for. */
  truncated: 'X-Service-Truncated',
  /** Whether the answering server knows a leader: `true` or `false`. */
  knownLeader: 'X-Service-KnownLeader',
  /** Whole milliseconds since the answering server heard from the leader. */
  lastContact: 'X-Service-LastContact',
  /** Which program sends a request: `cli` or `web`. Versions of jobs keep it as their origin. */
  client: 'X-Service-Client',
} as const

/** The root of every path of the workload API. */
export const V1_ROOT = '/v1'

/** Environment variables that a task is given begin with this. */
export const TASK_ENVIRONMENT_PREFIX = 'REEVE_'

/** Environment variables that set a job file's variables for the command line. */
export const VARIABLE_ENVIRONMENT_PREFIX = 'REEVE_VAR_'

/** The built-in service catalogue on the wire; `native` is accepted for it. */
export const SERVICE_PROVIDER = 'service'
export const SERVICE_PROVIDER_ALIAS = 'native'

/** An external service catalogue. */
export const DISCOVERY_PROVIDER = 'discovery'

/** Node attribute that holds the version of the agent. */
export const AGENT_VERSION_ATTRIBUTE = 'service.version'

/** Names of the metrics begin with this. */
export const METRIC_PREFIX = 'service.'

/**
 * Paths of variables below this belong to workloads; the ones below the second are theirs to read.
 */
export const RESERVED_VARIABLE_PREFIX = 'service/'
export const WORKLOAD_VARIABLE_PREFIX = 'service/jobs'
/** Below it are the variables that policies on jobs may read. */
export const POLICY_VARIABLE_PREFIX = 'service/native'

export const DEFAULT_NAMESPACE = 'default'
/** In place of a namespace: every namespace that the caller may see. */
export const ALL_NAMESPACES = '*'

export const DEFAULT_NODE_POOL = 'default'
/** The built-in pool that holds the nodes of every pool. */
export const ALL_NODE_POOL = 'all'

/** The word that a job may use for the region of the agent that answers. */
export const GLOBAL_REGION = 'global'

/** The caller without a token, and the policy that applies to it when it exists. */
export const ANONYMOUS_ACCESSOR_ID = 'anonymous'
export const ANONYMOUS_POLICY = 'anonymous'
