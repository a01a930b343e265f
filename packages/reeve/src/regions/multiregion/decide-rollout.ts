import type { Deployment, Multiregion } from '@reeve/contract'

/**
 * Progress of another region in a rollout. `pending`: not started; `blocked`: complete and waiting
 * for the others; `finished`: ended, or nothing is rolled out there; `unknown`: the region does not
 * respond.
 */
export type PeerProgress = 'unknown' | 'pending' | 'running' | 'blocked' | 'finished' | 'failed'

export interface RolloutView {
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
