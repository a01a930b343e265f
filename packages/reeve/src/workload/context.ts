import type { Caller } from '../acl/index.ts'
import type { RuleAliases } from '../compat/index.ts'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import type { StateCapacity } from '@reeve/kit/memory-pressure.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import type { OffsetAt } from '../model/index.ts'
import type { PolicyAsker } from '../policy/index.ts'
import type { ClusterView } from '../scheduler/index.ts'
import type { Author, Store } from '../state/index.ts'
import type { TenantGate } from '../threads/index.ts'
import type { PolicyGuard } from './guarding/policy-guard.ts'
import type { JobFileReader } from './job-files/job-file-reader.ts'
import type { Sealer } from './sealer.ts'

/** Other regions, as use cases ask them for one region's part of something. */
export interface OtherRegions {
  /** Those that are not this one, sorted. */
  others(): readonly string[]
  /** A region that is not this one, and that can be asked. */
  isOther(region: string): boolean
  /** `http://host:port` or `https://…` of its servers, as far as they are configured. */
  addressesOf(region: string): readonly string[]
  /**
   * Throws a Fault when the region does not answer: of the kind REGION_UNREACHED, or of the kind
   * REGION_IN_DOUBT when what was asked for may have happened all the same.
   */
  ask(region: string, call: RegionCall): Promise<RegionResponse>
}

/** The response of a server of another region. */
export interface RegionResponse {
  readonly status: number
  readonly text: string
  /** The code of its error; empty when it sent none. */
  readonly errorCode: string
}

export interface RegionCall {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** The secret of the caller; empty when it has shown none. */
  readonly token: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Nothing is changed by it, whatever its method: another server may be asked again. */
  readonly isRead?: boolean
  /** How long each of its servers may take to answer. */
  readonly answerMsMax?: number
}

/** The kind of the Fault when a region was not reached, so that nothing has happened there. */
export const REGION_UNREACHED = 'region-unreached'
/** The kind of the Fault after which nobody knows whether something has happened there. */
export const REGION_IN_DOUBT = 'region-in-doubt'

/** The evaluations that wait for the scheduler, as a registration sees them. */
export interface EvaluationQueue {
  /** False on a follower, while paused, or when another evaluation must be scheduled first. */
  mayScheduleInline(priority: number): boolean
}

/** Where use cases report what no caller is told. */
export interface WorkloadLog {
  error(fields: object, message: string): void
}

/** How nodes are admitted that the servers do not know. */
export interface NodeAdmission {
  /** False: a new node needs a join token of its own. */
  readonly allowsSharedToken: boolean
  /** New nodes a minute on one server, and of one address; 0 is any number. */
  readonly newNodesPerMinuteMax: number
  readonly newNodesPerAddressMax: number
}

/**
 * A cluster of a thousand nodes may start at once, and one of ten thousand within ten minutes:
 * agents that are refused retry. Nodes that are known already do not count.
 */
export const DEFAULT_NODE_ADMISSION: NodeAdmission = {
  allowsSharedToken: true,
  newNodesPerMinuteMax: 1_200,
  newNodesPerAddressMax: 120,
}

/** The caller of a request that may commit: its commits carry the audit record. */
export interface RequestCaller extends Caller, Author {}

/** What every use case may use. Made once by the composition root. */
export interface WorkloadContext {
  readonly store: Store
  /** The same state as the scheduler sees it, for dry runs and explanations. */
  readonly view: ClusterView
  /** Whether a small job may be placed by the commit that registers it (decision 0052). */
  readonly evaluations: EvaluationQueue
  readonly log: WorkloadLog
  /** Whether the state may grow. */
  readonly capacity: StateCapacity
  readonly clock: Clock
  readonly ids: IdSource
  readonly random: Random
  /** A stopwatch; the time of the process unless a simulation has its own. */
  readonly elapsedNs?: () => number
  readonly sealer: Sealer
  readonly jobFiles: JobFileReader
  /** Admits plans of many instances, one of each tenant at a time. */
  readonly planGate: TenantGate
  /** The policies that job submissions are held to. */
  readonly guard: PolicyGuard
  /** The one thread that asks policies; governance asks about plans on it. */
  readonly policyAsker: PolicyAsker
  readonly region: string
  /** Undefined where no other region is known. */
  readonly regions?: OtherRegions
  /** How far wall clocks are ahead of UTC; periodic jobs follow them. */
  readonly offsetAt: OffsetAt
  readonly aclEnabled: boolean
  /** Other words that ACL policies may use; none unless given. */
  readonly ruleAliases?: RuleAliases
  /** The shared join token as configured; a rotated one in the state replaces it. */
  readonly joinToken: string
  /** How unknown nodes are admitted; `DEFAULT_NODE_ADMISSION` unless given. */
  readonly nodeAdmission?: NodeAdmission
  /** Undefined where nothing is traced. */
  readonly tracer?: Tracer | undefined
  /** Reads the operator's bootstrap reset file; undefined when there is none. */
  readonly readBootstrapReset: () => Promise<string | undefined>
}
