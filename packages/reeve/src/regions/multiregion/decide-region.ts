import type { Deployment, Multiregion } from '@reeve/contract'

/**
 * How the roll-out stands in another region. `done`: nothing is rolled out there any more, or it is
 * complete; `waits`: it has not begun; `unknown`: the region does not answer.
 */
export type PeerStanding = 'unknown' | 'waits' | 'rolls' | 'complete' | 'done' | 'failed'

export interface RegionView {
  /** The deployment of this region. */
  readonly status: Deployment['Status']
  /** This region, as the job lists it. */
  readonly region: string
  readonly multiregion: Multiregion
  readonly peers: ReadonlyMap<string, PeerStanding>
}

/**
 * What a region does with its deployment; `wait` also when nothing has to be done. `hold`: it is
 * complete, and only a person can end it.
 */
export type RegionDecision = 'wait' | 'start' | 'succeed' | 'fail' | 'hold'

/**
 * Each region looks at the others and decides about itself alone, so that nobody writes anywhere
 * else. Regions begin in the order of the job's list, `MaxParallel` at once; one that is complete
 * holds until all are. A region that fails stops those that have not begun; with `fail_all` also
 * the others, with `fail_local` none of them: it counts as done.
 */
export function decideRegion({ status, region, multiregion, peers }: RegionView): RegionDecision {
  const { MaxParallel = 0, OnFailure = '' } = multiregion.Strategy ?? {}
  const failed = [...peers.values()].includes('failed')
  if (failed && OnFailure === 'fail_all') return 'fail'
  const isOver = (standing: PeerStanding): boolean =>
    standing === 'complete' ||
    standing === 'done' ||
    (standing === 'failed' && OnFailure === 'fail_local')
  if (status === 'blocked') {
    if ([...peers.values()].every(isOver)) return 'succeed'
    return failed && OnFailure === '' ? 'hold' : 'wait'
  }
  if (status !== 'pending') return 'wait'
  if (failed && OnFailure === '') return 'fail'
  const names = multiregion.Regions.map(({ Name }) => Name)
  const before = names.slice(0, Math.max(0, names.indexOf(region)))
  const standings = before.map((name) => peers.get(name) ?? 'unknown')
  if (standings.some((standing) => standing === 'unknown' || standing === 'waits')) return 'wait'
  const rolling = standings.filter((standing) => standing === 'rolls').length
  return MaxParallel === 0 || rolling < MaxParallel ? 'start' : 'wait'
}
