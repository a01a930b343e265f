import { isActiveDeployment } from '../../src/model/index.ts'
import { msFromNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { capAtDuration, STORED_TIMES } from '../../src/control/stored-times.ts'
import type { SimLeader } from '../sim-leader.ts'
import { Violation } from '../trace.ts'

/** Time until the loop has checked its clock and all consequences have happened. */
const DETECTION_MS = 2_500
/** Jumps below two seconds are not corrected. */
const TOLERANCE_MS = 2_500
/** A deadline stored by an earlier process may be too far ahead by this much. */
const MAX_AHEAD_MS = 62_000

/**
 * Invariant: no stored deadline is further ahead than when it was set, so that nothing waits for a
 * clock.
 */
export function checkNoDeadlineAhead({ store, context }: SimLeader): void {
  const stored = { tables: store.tables, copiesGlobalTokens: false }
  const correct = capAtDuration(context.clock.nowMs(), MAX_AHEAD_MS)
  for (const { name, correctionsOf } of STORED_TIMES)
    for (const change of correctionsOf(stored, correct))
      throw new Violation(
        'no deadline is further ahead than when it was set',
        `${name} ${JSON.stringify(change)}`,
      )
}

const lastJumpMs = new WeakMap<SimLeader, number>()

/**
 * Sets a clock of the leader and checks shortly afterwards that the remaining time of every
 * deadline is unchanged and none has passed.
 */
export function jumpWithDeadlines(
  leader: SimLeader | undefined,
  jump: () => void,
  guard: (work: () => void) => void,
): void {
  if (leader === undefined || !leader.isWorking) return jump()
  const { clock } = leader.context
  const lastMs = lastJumpMs.get(leader) ?? Number.NEGATIVE_INFINITY
  lastJumpMs.set(leader, clock.monotonicMs())
  // Two consecutive jumps look like one; the deadlines in between are meaningless.
  if (clock.monotonicMs() - lastMs < DETECTION_MS) return jump()
  const before = remainingTimesOf(leader)
  const { startCount } = leader
  jump()
  const offsetMs = clock.nowMs() - clock.monotonicMs()
  clock.after(DETECTION_MS, () => {
    // The clock was set again or the server restarted: other rules apply.
    const isSame = Math.abs(clock.nowMs() - clock.monotonicMs() - offsetMs) < 500
    if (!isSame || !leader.isWorking || leader.startCount !== startCount) return
    guard(() => {
      checkNoDeadlineEnded(leader, before)
      checkNoDeadlineAhead(leader)
    })
  })
}

interface RemainingTimes {
  readonly atMs: number
  /**
   * Remaining time by deployment and group, by node and by evaluation: at most as long as when it
   * was set. A deadline that is further ahead because the process died just after its clock was set
   * back is shortened by the next correction.
   */
  readonly remainingMs: ReadonlyMap<string, number>
}

function remainingTimesOf({ store: { tables }, context: { clock } }: SimLeader): RemainingTimes {
  const remainingMs = new Map<string, number>()
  const record = (key: string, time: string, durationNs: number): void => {
    if (time === ZERO_TIME) return
    remainingMs.set(key, Math.min(Date.parse(time) - clock.nowMs(), msFromNs(durationNs)))
  }
  for (const row of tables.deployments.rows())
    if (isActiveDeployment(row))
      for (const [group, state] of Object.entries(row.TaskGroups))
        record(`deployment ${row.ID} ${group}`, state.RequireProgressBy, state.ProgressDeadline)
  for (const row of tables.nodes.rowsByIndex('draining', 'yes'))
    if (row.DrainStrategy !== null) {
      const { ForceDeadline, Deadline } = row.DrainStrategy
      // Includes the duration, because an operator may change the deadline in between.
      record(`drain ${row.ID} ${Deadline}`, ForceDeadline, Deadline)
    }
  for (const row of tables.evaluations.rowsByIndex('status', 'pending'))
    record(
      `evaluation ${row.ID}`,
      row.WaitUntil,
      nsFromMs(Date.parse(row.WaitUntil)) - row.CreateTime,
    )
  return { atMs: clock.monotonicMs(), remainingMs }
}

function checkNoDeadlineEnded(leader: SimLeader, before: RemainingTimes): void {
  const { atMs, remainingMs } = remainingTimesOf(leader)
  // The process may have been paused in between.
  const elapsedMs = atMs - before.atMs + TOLERANCE_MS
  const { deployments, evaluations } = leader.store.tables
  for (const [key, beforeMs] of before.remainingMs) {
    if (beforeMs < elapsedMs) continue
    const [kind, id = ''] = key.split(' ')
    const afterMs = remainingMs.get(key)
    if (afterMs !== undefined && afterMs < beforeMs - elapsedMs)
      throw new Violation('a clock jump expires no deadline', `${key}: ${beforeMs} to ${afterMs}`)
    const ended =
      kind === 'deployment'
        ? deployments.find(id)?.StatusDescription.includes('progress deadline')
        : kind === 'evaluation' && evaluations.find(id)?.Status === 'complete'
    if (ended === true)
      throw new Violation('a clock jump expires no deadline', `${key} had ${beforeMs} ms left`)
  }
}
