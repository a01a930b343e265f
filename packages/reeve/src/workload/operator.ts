import { setImmediate } from 'node:timers/promises'
import type { SchedulerConfigurationRequest } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import {
  areAdjacentMinors,
  compareMinors,
  minorText,
  minorVersionOf,
  parseMinor,
  type MinorVersion,
} from '@reeve/kit/release.ts'
import type { Caller } from '../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  canonicalSchedulerConfiguration,
  type ClusterLevelRow,
  DEFAULT_SCHEDULER_CONFIGURATION,
  isEqual,
  isSchedulerAlgorithm,
  recountSummary,
  refusal,
  type Refusal,
} from '../model/index.ts'
import {
  findSetting,
  put,
  schedulerConfiguration,
  type Author,
  type Store,
  clusterLevel,
  FIRST_LEVEL,
  runGc,
  countChildren,
  ZERO_GC_THRESHOLDS,
  type Change,
} from '../state/index.ts'
import type { WorkloadContext } from './context.ts'
import { namespaceRow } from './namespaces.ts'
import { nodePoolRow } from './node-pools.ts'

/** Maximum number of characters of an unknown algorithm in an error. */
const CHARS_SHOWN_MAX = 64

interface SchedulerConfigurationResult {
  /** False if the index of the settings is not the expected one. */
  readonly updated: boolean
  readonly index: number
}

/** Replaces all settings; with `cas` only if they have that index. */
export async function writeSchedulerConfiguration(
  { store }: WorkloadContext,
  { by }: Author,
  request: SchedulerConfigurationRequest,
  cas: number | undefined,
): Promise<Result<SchedulerConfigurationResult, Refusal>> {
  const next = canonicalSchedulerConfiguration(request)
  if (!isSchedulerAlgorithm(next.SchedulerAlgorithm))
    return err(
      refusal(
        'invalid-input',
        `invalid scheduler algorithm: ${next.SchedulerAlgorithm.slice(0, CHARS_SHOWN_MAX)}`,
      ),
    )
  const current = findSetting(store.tables, 'scheduler-configuration')?.ModifyIndex ?? 0
  if (cas !== undefined && cas !== current) {
    const index = await store.settledIndex()
    return ok({ updated: false, index })
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('settings', { Name: 'scheduler-configuration', ...next })],
  })
  await durable
  return ok({ updated: true, index })
}

const REGISTRATION_DISABLED: Refusal = refusal(
  'permission-denied',
  'Job registration, dispatch, and scale are disabled by the scheduler configuration',
)

/** Returns the refusal while job registration is disabled for the caller. */
export function checkRegistrationEnabled(store: Store, caller: Caller): Refusal | undefined {
  const { RejectJobRegistration } = schedulerConfiguration(store.tables)
  return RejectJobRegistration && !caller.grants.isManagement ? REGISTRATION_DISABLED : undefined
}

/** Objects that exist from the first start of an installation. */
const BUILT_IN_NAMESPACES = [
  namespaceRow({ Name: 'default', Description: 'Default shared namespace' }),
]
const BUILT_IN_NODE_POOLS = [
  nodePoolRow({ Name: 'default', Description: 'Default node pool' }),
  nodePoolRow({ Name: 'all', Description: 'Node pool with all nodes in the cluster' }),
]
/** Stored from the start, so that check-and-set always has an index. */
const BUILT_IN_SETTINGS = [
  { Name: 'scheduler-configuration', ...DEFAULT_SCHEDULER_CONFIGURATION } as const,
]

/** Creates the missing objects; does nothing at later starts. `build` is the own version. */
export async function ensureBuiltIns(
  { store }: Pick<WorkloadContext, 'store'>,
  build?: string,
): Promise<void> {
  const { namespaces, node_pools, settings } = store.tables
  const level = initialLevelRow(store, build)
  const { durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      ...BUILT_IN_NAMESPACES.filter((row) => !namespaces.has(row.Name)).map((row) =>
        put('namespaces', row),
      ),
      ...BUILT_IN_NODE_POOLS.filter((row) => !node_pools.has(row.Name)).map((row) =>
        put('node_pools', row),
      ),
      ...BUILT_IN_SETTINGS.filter((row) => !settings.has(row.Name)).map((row) =>
        put('settings', row),
      ),
      ...(level === undefined ? [] : [put('settings', level)]),
    ],
  })
  await durable
}

/** A cluster member that has not left. */
export interface ServerBuild {
  readonly name: string
  readonly build: string
}

/**
 * Throws a Fault if this version must not write to the state: the cluster has been upgraded to a
 * newer version, or a minor version was skipped. Nothing has been written yet.
 */
export function assertClusterLevel({ tables }: Store, build: string): void {
  const ownVersion = minorVersionOf(build)
  // Development builds cannot be compared.
  if (ownVersion === undefined || tables.settings.lastIndex === 0) return
  const levelText = clusterLevel(tables)
  const level = parseMinor(levelText)
  if (level === undefined) return
  const order = compareMinors(ownVersion, level)
  if (order < 0)
    throw new Fault(
      'storage-version',
      `The cluster level of this state is ${levelText}, and this is Reeve ${build}: the upgrade to ` +
        `${levelText} is finished. Start Reeve ${levelText} or newer, or restore a snapshot that was saved ` +
        'before the upgrade. Nothing was changed.',
    )
  if (order > 0 && !areAdjacentMinors(ownVersion, level))
    throw new Fault(
      'storage-version',
      `The cluster level of this state is ${levelText}, and this is Reeve ${build}: upgrade one minor ` +
        `version at a time. Start the version after ${levelText} and finish its upgrade with ` +
        '"reeve operator upgrade finish". Nothing was changed.',
    )
}

/**
 * Returns the level row of a state that has none; undefined if it has one. A state without a level
 * was written by the first release.
 */
function initialLevelRow(
  { tables: { settings } }: Store,
  build: string | undefined,
): ClusterLevelRow | undefined {
  if (settings.has('cluster-level')) return undefined
  const ownVersion = build === undefined ? undefined : minorVersionOf(build)
  const isNew = settings.lastIndex === 0
  return clusterLevelRow(isNew && ownVersion !== undefined ? minorText(ownVersion) : FIRST_LEVEL)
}

function clusterLevelRow(level: string): ClusterLevelRow {
  return { Name: 'cluster-level', Level: level, CreateIndex: 0, ModifyIndex: 0 }
}

/** Highest level that all servers support: the oldest of their versions. */
export function reachableLevel({ tables }: Store, servers: readonly ServerBuild[]): string {
  const current = clusterLevel(tables)
  const oldest = findOldestServer(servers)
  if (oldest === undefined) return current
  const level = parseMinor(current)
  return level !== undefined && compareMinors(oldest.minor, level) < 0
    ? current
    : minorText(oldest.minor)
}

interface OldestServer {
  readonly server: ServerBuild
  readonly minor: MinorVersion
}

function findOldestServer(servers: readonly ServerBuild[]): OldestServer | undefined {
  const known = servers.flatMap((server) => {
    const minor = minorVersionOf(server.build)
    return minor === undefined ? [] : [{ server, minor }]
  })
  return known.toSorted((a, b) => compareMinors(a.minor, b.minor)).at(0)
}

/** Raises the level to the version of the leader; rejected while an older server is a member. */
export async function raiseClusterLevel(
  store: Store,
  { by }: Author,
  { build, servers }: { readonly build: string; readonly servers: readonly ServerBuild[] },
): Promise<Result<{ readonly level: string; readonly index: number }, Refusal>> {
  const ownVersion = minorVersionOf(build)
  const current = clusterLevel(store.tables)
  if (ownVersion === undefined)
    return err(refusal('invalid-input', `${build} is not the version of a release.`))
  const oldest = findOldestServer(servers)
  if (oldest !== undefined && compareMinors(oldest.minor, ownVersion) < 0)
    return err(
      refusal(
        'invalid-input',
        `The server ${oldest.server.name} runs Reeve ${oldest.server.build}, the leader ${build}: ` +
          'upgrade it first, or remove it with "reeve server force-leave --prune" if it is gone.',
      ),
    )
  const level = minorText(ownVersion)
  if (level === current) {
    const index = await store.settledIndex()
    return ok({ level, index })
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('settings', clusterLevelRow(level))],
  })
  await durable
  return ok({ level, index })
}

/** Deletes all terminal objects, whatever their age. */
export async function forceGarbageCollection(
  { store, clock }: WorkloadContext,
  { by }: Author,
): Promise<void> {
  const yieldToEventLoop = (): Promise<void> => setImmediate()
  await runGc(store, { nowMs: clock.nowMs(), ages: ZERO_GC_THRESHOLDS, yieldToEventLoop, by })
}

/** Number of jobs recounted in one commit. */
const JOBS_PER_COMMIT = 200

/**
 * Recounts the allocations of every job, as a repair. In slices, so that a million allocations do
 * not block the event loop; the summary of a job that changes meanwhile is correct anyway.
 */
export async function recountSummaries({ store }: WorkloadContext, { by }: Author): Promise<void> {
  let author = by
  let from: string | undefined = ''
  while (from !== undefined) {
    const { keys, next } = nextJobKeys(store, from)
    const changes = keys.flatMap((key) => correctedSummary(store, key))
    const { durable } = store.commit({ by: author, cause: undefined, changes: () => changes })
    if (changes.length > 0) author = 'system'
    await durable
    from = next
    await setImmediate()
  }
}

function nextJobKeys({ tables }: Store, from: string) {
  const keys: string[] = []
  for (const key of tables.jobs.keys(from)) {
    if (keys.length === JOBS_PER_COMMIT) return { keys, next: key }
    keys.push(key)
  }
  return { keys, next: undefined }
}

/** Returns the corrected summary of a job, if it was wrong. */
function correctedSummary({ tables }: Store, key: string): Change[] {
  const job = tables.jobs.find(key)
  const summary = tables.job_summaries.find(key)
  if (job === undefined || summary === undefined) return []
  const current = tables.allocations
    .rowsByIndex('job', key)
    .filter((row) => row.CreateIndex >= job.CreateIndex)
  const Children = countChildren(tables, key)
  const counted = { ...recountSummary(summary, job, current), Children }
  const before = { ...summary, ModifyIndex: counted.ModifyIndex }
  return isEqual(before, counted) ? [] : [put('job_summaries', counted)]
}
