import type { Deployment, Multiregion } from '@reeve/contract'

/**
 * How far another region is with a rollout. `pending`: it has not begun; `blocked`: it is complete
 * and waits for the others; `finished`: it is over, or nothing is rolled out there; `unknown`: the
 * region does not answer.
 */
export type PeerProgress = 'unknown' | 'pending' | 'running' | 'blocked' | 'finished' | 'failed'

export interface RolloutView {
  /** Of the deployment in this region. */
  readonly status: Deployment['Status']
  /** This region, as the job lists it. */
  readonly region: string
  readonly multiregion: Multiregion
  readonly peers: ReadonlyMap<string, PeerProgress>
}

/**
 * What a region does with its deployment; `wait` also when nothing has to be done. `hold`: it is
 * complete, and only an operator can end it.
 */
export type RolloutDecision = 'wait' | 'start' | 'succeed' | 'fail' | 'hold'

/**
 * Each region reads the progress of the others and decides about its own deployment only. Regions
 * begin in the order of the job's list, `MaxParallel` at once; one that is complete waits until all
 * are. A region that fails stops those that have not begun; with `fail_all` also the others, with
 * `fail_local` none of them: it counts as finished.
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
  const isOver = (progress: PeerProgress): boolean =>
    progress === 'blocked' ||
    progress === 'finished' ||
    (progress === 'failed' && OnFailure === 'fail_local')
  if (status === 'blocked') {
    if ([...peers.values()].every(isOver)) return 'succeed'
    return hasFailed && OnFailure === '' ? 'hold' : 'wait'
  }
  if (status !== 'pending') return 'wait'
  if (hasFailed && OnFailure === '') return 'fail'
  const names = multiregion.Regions.map(({ Name }) => Name)
  const before = names.slice(0, Math.max(0, names.indexOf(region)))
  const progress = before.map((name) => peers.get(name) ?? 'unknown')
  if (progress.some((one) => one === 'unknown' || one === 'pending')) return 'wait'
  const running = progress.filter((one) => one === 'running').length
  return MaxParallel === 0 || running < MaxParallel ? 'start' : 'wait'
}
