import { Type, type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { Deployment, Job, type Multiregion } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'

/**
 * Progress of another region in a rollout. `pending`: not started; `blocked`: complete and waiting
 * for the others; `finished`: ended, or nothing is rolled out there; `unknown`: the region does not
 * respond.
 */
export type PeerProgress = 'unknown' | 'pending' | 'running' | 'blocked' | 'finished' | 'failed'

interface RolloutView {
  /** Status of the deployment in this region. */
  readonly status: Deployment['Status']
  /** Name of this region in the job's list. */
  readonly region: string
  readonly multiregion: Multiregion
  readonly peers: ReadonlyMap<string, PeerProgress>
}

/**
 * A region's decision about its deployment; `wait` also if nothing is to be done. `hold`: it is
 * complete, and only an operator can end it.
 */
export type RolloutDecision = 'wait' | 'start' | 'succeed' | 'fail' | 'hold'

/**
 * Each region reads the progress of the others and decides only about its own deployment. Regions
 * start in the order of the job's list, `MaxParallel` at once; a complete one waits until all are.
 * A failed region stops those that have not started; with `fail_all` it fails all others, and with
 * `fail_local` it counts as finished.
 */
export function decideRollout({
  status,
  region,
  multiregion,
  peers,
}: RolloutView): RolloutDecision {
  const { MaxParallel = 0, OnFailure = '' } = multiregion.Strategy ?? {}
  const hasFailed = [...peers.values()].includes('failed')
  if (hasFailed && OnFailure === 'fail_all') return 'fail'
  const isDone = (earlierProgress: PeerProgress): boolean =>
    earlierProgress === 'blocked' ||
    earlierProgress === 'finished' ||
    (earlierProgress === 'failed' && OnFailure === 'fail_local')
  if (status === 'blocked') {
    if ([...peers.values()].every(isDone)) return 'succeed'
    return hasFailed && OnFailure === '' ? 'hold' : 'wait'
  }
  if (status !== 'pending') return 'wait'
  if (hasFailed && OnFailure === '') return 'fail'
  const names = multiregion.Regions.map(({ Name }) => Name)
  const earlierRegions = names.slice(0, Math.max(0, names.indexOf(region)))
  const earlierProgress = earlierRegions.map((name) => peers.get(name) ?? 'unknown')
  if (earlierProgress.some((state) => state === 'unknown' || state === 'pending')) return 'wait'
  const running = earlierProgress.filter((state) => state === 'running').length
  return MaxParallel === 0 || running < MaxParallel ? 'start' : 'wait'
}

/** During a registration, the last regions of the list still have the previous version. */
const REGISTRATION_TIMEOUT_MS = 30_000

const PeerJob = Type.Pick(Job, ['Version', 'Stop', 'SubmitTime'])
export type PeerJob = Static<typeof PeerJob>
const PeerVersions = Type.Object({ Versions: Type.Array(PeerJob) })
const PeerDeployment = Type.Pick(Deployment, ['JobVersion', 'Status', 'CreateIndex'])
export type PeerDeployment = Static<typeof PeerDeployment>

/** A job's state in another region. Readers throw a Fault for an unexpected response. */
export interface PeerState {
  readonly job: PeerJob
  /** Versions that the region keeps; just the current one if it is the version of this rollout. */
  readonly versions: readonly PeerJob[]
  readonly deployments: readonly PeerDeployment[]
}

export function parsePeerJob(body: unknown): PeerJob {
  return parseAs(PeerJob, body, 'job')
}

export function parsePeerVersions(body: unknown): readonly PeerJob[] {
  return parseAs(PeerVersions, body, 'list of job versions').Versions
}

export function parsePeerDeployments(body: unknown): readonly PeerDeployment[] {
  return parseAs(Type.Array(PeerDeployment), body, 'list of deployments')
}

function parseAs<Schema extends TSchema>(schema: Schema, body: unknown, what: string) {
  if (Value.Check(schema, body)) return body
  throw new Fault('region-answer', `its ${what} has an unknown form`)
}

/**
 * Returns another region's progress in this region's rollout. All regions of a registration store
 * the same `SubmitTime`, so the peer's deployment is that of the version with this time. Its latest
 * deployment may be a different one: an automatic rollback follows a failure in the same commit.
 * `peer` is undefined if the region does not have the job; `ageMs` is the age of the deployment in
 * this region.
 */
export function peerProgress(
  ownJob: Pick<Job, 'SubmitTime'>,
  ageMs: number,
  peer: PeerState | undefined,
): PeerProgress {
  const mayBeRegistering = ageMs < REGISTRATION_TIMEOUT_MS
  if (peer === undefined) return mayBeRegistering ? 'pending' : 'finished'
  const { job, versions, deployments } = peer
  const version = versions.find(({ SubmitTime }) => SubmitTime === ownJob.SubmitTime)?.Version
  const deployment = latestDeployment(deployments, version ?? job.Version)
  if (version !== undefined && deployment?.Status === 'failed') return 'failed'
  if (job.SubmitTime < ownJob.SubmitTime && mayBeRegistering) return 'pending'
  if (job.Stop || deployment === undefined) return 'finished'
  const progress = PROGRESS_OF_STATUS[deployment.Status]
  // The failed deployment there is not part of this rollout.
  return progress === 'failed' ? 'finished' : progress
}

function latestDeployment(deployments: readonly PeerDeployment[], version: number) {
  return deployments
    .filter(({ JobVersion }) => JobVersion === version)
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
    .at(-1)
}

const PROGRESS_OF_STATUS = {
  initializing: 'pending',
  pending: 'pending',
  running: 'running',
  paused: 'running',
  blocked: 'blocked',
  unblocking: 'blocked',
  successful: 'finished',
  cancelled: 'finished',
  failed: 'failed',
} as const satisfies Record<Deployment['Status'], PeerProgress>
