import { Deployment, Job } from '@reeve/contract'
import { Type, type Static, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '@reeve/kit/fault.ts'
import type { PeerProgress } from './decide-rollout.ts'

/** While a job is being registered, the last regions of its list still have the version before. */
const REGISTRATION_MS_MAX = 30_000

const PeerJob = Type.Pick(Job, ['Version', 'Stop', 'SubmitTime'])
export type PeerJob = Static<typeof PeerJob>
const PeerVersions = Type.Object({ Versions: Type.Array(PeerJob) })
const PeerDeployment = Type.Pick(Deployment, ['JobVersion', 'Status', 'CreateIndex'])
export type PeerDeployment = Static<typeof PeerDeployment>

/** What another region has of a job. Readers throw a Fault for a response of an unknown form. */
export interface PeerState {
  readonly job: PeerJob
  /** The versions that the region still keeps; the current one is enough where it is ours. */
  readonly versions: readonly PeerJob[]
  readonly deployments: readonly PeerDeployment[]
}

export function readPeerJob(body: unknown): PeerJob {
  return readAs(PeerJob, body, 'job')
}

export function readPeerVersions(body: unknown): readonly PeerJob[] {
  return readAs(PeerVersions, body, 'list of job versions').Versions
}

export function readPeerDeployments(body: unknown): readonly PeerDeployment[] {
  return readAs(Type.Array(PeerDeployment), body, 'list of deployments')
}

function readAs<Schema extends TSchema>(schema: Schema, body: unknown, what: string) {
  if (Value.Check(schema, body)) return body
  throw new Fault('region-answer', `its ${what} has an unknown form`)
}

/**
 * How far another region is with the rollout that this region is in. All regions of a registration
 * store the same `SubmitTime`, so the peer's deployment is that of its version with this time. Its
 * latest deployment may be another one: an automatic rollback follows a failure in the same commit.
 * `peer` is undefined where the region does not have the job; `ageMs` is the age of the deployment
 * here.
 */
export function peerProgress(
  own: Pick<Job, 'SubmitTime'>,
  ageMs: number,
  peer: PeerState | undefined,
): PeerProgress {
  const mayBeRegistering = ageMs < REGISTRATION_MS_MAX
  if (peer === undefined) return mayBeRegistering ? 'pending' : 'finished'
  const { job, versions, deployments } = peer
  const version = versions.find(({ SubmitTime }) => SubmitTime === own.SubmitTime)?.Version
  const deployment = latestOf(deployments, version ?? job.Version)
  if (version !== undefined && deployment?.Status === 'failed') return 'failed'
  if (job.SubmitTime < own.SubmitTime && mayBeRegistering) return 'pending'
  if (job.Stop || deployment === undefined) return 'finished'
  const progress = PROGRESS[deployment.Status]
  // What failed there is not what is rolled out here.
  return progress === 'failed' ? 'finished' : progress
}

function latestOf(deployments: readonly PeerDeployment[], version: number) {
  return deployments
    .filter(({ JobVersion }) => JobVersion === version)
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
    .at(-1)
}

const PROGRESS = {
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
