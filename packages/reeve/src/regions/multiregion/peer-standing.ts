import { Deployment, Job } from '@reeve/contract'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { Fault } from '../../kit/fault.ts'
import type { PeerStanding } from './decide-region.ts'

/** While a job is being registered, regions at the end of its list still have the one before. */
const REGISTRATION_MS_MAX = 30_000

const SeenJob = Type.Pick(Job, ['Version', 'Stop', 'SubmitTime'])
const SeenDeployment = Type.Pick(Deployment, ['JobVersion', 'Status'])

export interface SeenPeer {
  /** The job of this region. */
  readonly own: Pick<Job, 'SubmitTime'>
  /** How long ago its deployment began here. */
  readonly ageMs: number
  /** What the other region answered; null where it has none. */
  readonly job: unknown
  readonly deployment: unknown
}

/** How the roll-out stands in a region that has answered. */
export function standingOf({ own, ageMs, job, deployment }: SeenPeer): PeerStanding {
  if (job === null) return ageMs < REGISTRATION_MS_MAX ? 'waits' : 'done'
  if (!Value.Check(SeenJob, job)) throw new Fault('region-answer', 'its job cannot be understood')
  if (job.SubmitTime < own.SubmitTime && ageMs < REGISTRATION_MS_MAX) return 'waits'
  if (job.Stop || deployment === null) return 'done'
  if (!Value.Check(SeenDeployment, deployment))
    throw new Fault('region-answer', 'its deployment cannot be understood')
  // Of another version: that one has been rolled out as far as it ever will be.
  if (deployment.JobVersion !== job.Version) return 'done'
  const standing = STANDINGS[deployment.Status]
  // That of something else than is rolled out here.
  return standing === 'failed' && job.SubmitTime !== own.SubmitTime ? 'done' : standing
}

const STANDINGS = {
  initializing: 'waits',
  pending: 'waits',
  running: 'rolls',
  paused: 'rolls',
  blocked: 'complete',
  unblocking: 'complete',
  successful: 'done',
  cancelled: 'done',
  failed: 'failed',
} as const satisfies Record<Deployment['Status'], PeerStanding>
