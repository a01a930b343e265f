import type { Caller } from '../acl/index.ts'
import type { RuleAliases } from '../compat/index.ts'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import type { Logger } from '@reeve/kit/log.ts'
import { LIMITS, type OffsetAt } from '../model/index.ts'
import type { PolicyEngine } from '../policy/index.ts'
import type { ClusterView } from '../scheduler/index.ts'
import type { Author, Store } from '../state/index.ts'
import type { TaskOrigin, TenantConcurrencyLimiter } from '../threads/index.ts'
import type { JobPolicyEvaluator } from './policy-enforcement/evaluator.ts'
import type { JobFileReader } from './job-files/job-file-reader.ts'

/** Access to the other regions for use cases. */
export interface RemoteRegions {
  /** Returns the other regions, sorted. */
  remoteNames(): readonly string[]
  /** Reports whether this is another region that is reachable. */
  isRemoteRegion(region: string): boolean
  /** Returns the configured addresses of its servers: `http://host:port` or `https://…`. */
  addressesOf(region: string): readonly string[]
  /**
   * Sends a request to a region. Throws a Fault if it does not respond: of kind REGION_UNREACHABLE,
   * or REGION_OUTCOME_UNKNOWN if the request may have been executed.
   */
  request(region: string, request: RegionRequest): Promise<RegionResponse>
}

/** Response of a server of another region. */
export interface RegionResponse {
  readonly status: number
  readonly text: string
  /** Error code; empty if none was sent. */
  readonly errorCode: string
}

interface RegionRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Secret of the caller; empty for none. */
  readonly token: string
  /** Sent as JSON. */
  readonly body?: unknown
  /**
   * True if the request changes nothing, whatever its method: it can be retried on another server.
   */
  readonly isRead?: boolean
  /** Response timeout of each server. */
  readonly responseTimeoutMs?: number
}

/** Kind of the Fault if a region was not reached, and the request was not executed. */
export const REGION_UNREACHABLE = 'region-unreached'
/** Kind of the Fault if it is unknown whether the request was executed. */
export const REGION_OUTCOME_UNKNOWN = 'region-in-doubt'

/** The queue of pending evaluations, as registrations use it. */
export interface EvaluationQueue {
  /** False on a follower, while paused, or if another evaluation must be scheduled first. */
  mayScheduleInline(priority: number): boolean
}

/** Rules for admitting unknown nodes. */
export interface NodeAdmission {
  /** If false, a new node needs a join token of its own. */
  readonly allowsSharedToken: boolean
  /** New nodes per minute on one server, and of one address; 0 is unlimited. */
  readonly newNodesPerMinuteMax: number
  readonly newNodesPerAddressMax: number
}

/**
 * A cluster of a thousand nodes may start at once, and one of ten thousand within ten minutes:
 * rejected agents retry. Known nodes do not count.
 */
export const DEFAULT_NODE_ADMISSION: NodeAdmission = {
  allowsSharedToken: true,
  newNodesPerMinuteMax: 1_200,
  newNodesPerAddressMax: 120,
}

/** The caller of a request that may commit: its commits carry the audit record. */
export interface RequestCaller extends Caller, Author {}

/** Dependencies of all use cases. Created once by the composition root. */
export interface WorkloadContext {
  readonly store: Store
  /** The scheduler's view of the same state, for dry runs and explanations. */
  readonly view: ClusterView
  /** Decides whether a small job may be placed by the commit that registers it (decision 0052). */
  readonly evaluations: EvaluationQueue
  readonly log: Pick<Logger, 'error'>
  /** Limits the growth of the state. */
  readonly capacity: StateCapacity
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  /** Monotonic time; that of the process unless a simulation has its own. */
  readonly monotonicNs?: () => number
  readonly sealer: Sealer
  readonly jobFiles: JobFileReader
  /** Limits plans of many instances to one per tenant at a time. */
  readonly planGate: TenantConcurrencyLimiter
  /** Evaluates policies on job submissions. */
  readonly jobPolicies: JobPolicyEvaluator
  /** The policy thread, which governance uses for plans as well. */
  readonly policyEngine: PolicyEngine
  readonly region: string
  /** Undefined if no other region is configured. */
  readonly regions?: RemoteRegions
  /** Offset of wall clocks from UTC, for periodic jobs. */
  readonly utcOffsetAt: OffsetAt
  readonly aclEnabled: boolean
  /** Alternative keywords in ACL policies; none unless given. */
  readonly ruleAliases?: RuleAliases
  /** The configured shared join token; a rotated one in the state replaces it. */
  readonly joinToken: string
  /** Rules for unknown nodes; `DEFAULT_NODE_ADMISSION` unless given. */
  readonly nodeAdmission?: NodeAdmission
  /** Undefined if tracing is off. */
  readonly tracer?: Tracer | undefined
  /** Reads the operator's bootstrap reset file; undefined if there is none. */
  readonly readBootstrapReset: () => Promise<string | undefined>
}

/** The origin of a use case's work, for sharing the event loop fairly. */
export interface WorkOrigin extends TaskOrigin {
  /** Yields the event loop; resolves when this work may continue. */
  readonly nextTurn: () => Promise<void>
  /** Monotonic time for slices; that of the process unless a simulation has its own. */
  readonly monotonicMs?: () => number
}

/** Runs the steps in slices, so that they do not delay other requests. */
export function inSlices<T>(
  steps: Steps<T>,
  { nextTurn, monotonicMs = () => performance.now() }: WorkOrigin,
  beforeFirstTurn: () => void = () => undefined,
): Promise<T> {
  return runInSlices(steps, {
    nextTurn,
    monotonicMs,
    sliceMs: LIMITS.sliceMsMax,
    beforeFirstTurn,
  })
}

/**
 * Protects secrets in storage. Token secrets must be found by hash and shown again to permitted
 * callers, so they are stored hashed and sealed with a key that is stored separately from the data.
 */
export interface Sealer {
  /** Deterministic one-way hash for lookups. */
  hash(secret: string): string
  /** Encrypts a secret; only `open` with the same key decrypts it. */
  seal(secret: string): string
  /** Throws a Fault if it was sealed with another key. */
  open(sealed: string): string
  /** Encrypts bytes. */
  sealBytes(bytes: Uint8Array): Uint8Array
  /** Throws a Fault if it was sealed with another key. */
  openBytes(sealed: Uint8Array): Uint8Array
}
