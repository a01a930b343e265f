import { isActiveDeployment } from '../../src/model/index.ts'
import { msFromNs, nsFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { atMostItsDuration, STORED_TIMES } from '../../src/control/clock/stored-times.ts'
import type { Leader } from '../leader.ts'
import { Violation } from '../trace.ts'

/** Time until the loop has checked its clock and all consequences have happened. */
const NOTICED_MS = 2_500
/** Jumps below two seconds are not corrected. */
const SLACK_MS = 2_500
/** A deadline stored by an earlier process may be too far ahead by this much. */
const AHEAD_MS_MAX = 62_000

/**
 * Invariant: no stored deadline is further ahead than when it was set, so that nothing waits for a
 * clock.
 */
export function checkNothingWaits({ store, context }: Leader): void {
  const stored = { tables: store.tables, copiesGlobalTokens: false }
  const correct = atMostItsDuration(context.clock.nowMs(), AHEAD_MS_MAX)
  for (const { name, corrections } of STORED_TIMES)
    for (const change of corrections(stored, correct))
      throw new Violation('nothing waits for a clock', `${name} ${JSON.stringify(change)}`)
}

const lastJumpMs = new WeakMap<Leader, number>()

/**
 * Sets a clock of the leader and checks shortly afterwards that the remaining time of every
 * deadline is unchanged and none has passed.
 */
export function jumpWithDeadlines(
  leader: Leader | undefined,
  jump: () => void,
  guard: (work: () => void) => void,
): void {
  if (leader === undefined || !leader.isWorking) return jump()
  const { clock } = leader.context
  const lastMs = lastJumpMs.get(leader) ?? Number.NEGATIVE_INFINITY
  lastJumpMs.set(leader, clock.monotonicMs())
  // Two consecutive jumps look like one; the deadlines in between are meaningless.
  if (clock.monotonicMs() - lastMs < NOTICED_MS) return jump()
  const before = deadlinesOf(leader)
  const { starts } = leader
  jump()
  const setTo = clock.nowMs() - clock.monotonicMs()
  clock.after(NOTICED_MS, () => {
    // The clock was set again or the server restarted: other rules apply.
    const isSame = Math.abs(clock.nowMs() - clock.monotonicMs() - setTo) < 500
    if (!isSame || !leader.isWorking || leader.starts !== starts) return
    guard(() => {
      checkNothingEnded(leader, before)
      checkNothingWaits(leader)
    })
  })
}

interface Deadlines {
  readonly atMs: number
  /**
   * Remaining time by deployment and group, by node and by evaluation: at most as long as when it
   * was set. A deadline that is further ahead because the process died just after its clock was set
   * back is shortened by the next correction.
   */
  readonly left: ReadonlyMap<string, number>
}

function deadlinesOf({ store: { tables }, context: { clock } }: Leader): Deadlines {
  const left = new Map<string, number>()
  const note = (key: string, time: string, durationNs: number): void => {
    if (time === ZERO_TIME) return
    left.set(key, Math.min(Date.parse(time) - clock.nowMs(), msFromNs(durationNs)))
  }
  for (const row of tables.deployments.rows())
    if (isActiveDeployment(row))
      for (const [group, state] of Object.entries(row.TaskGroups))
        note(`deployment ${row.ID} ${group}`, state.RequireProgressBy, state.ProgressDeadline)
  for (const row of tables.nodes.rowsIn('draining', 'yes'))
    if (row.DrainStrategy !== null) {
      const { ForceDeadline, Deadline } = row.DrainStrategy
      // Includes the duration, because an operator may change the deadline in between.
      note(`drain ${row.ID} ${Deadline}`, ForceDeadline, Deadline)
    }
  for (const row of tables.evaluations.rowsIn('status', 'pending'))
    note(
      `evaluation ${row.ID}`,
      row.WaitUntil,
      nsFromMs(Date.parse(row.WaitUntil)) - row.CreateTime,
    )
  return { atMs: clock.monotonicMs(), left }
}

function checkNothingEnded(leader: Leader, before: Deadlines): void {
  const { atMs, left } = deadlinesOf(leader)
  // The process may have been paused in between.
  const passedMs = atMs - before.atMs + SLACK_MS
  const { deployments, evaluations } = leader.store.tables
  for (const [key, leftMs] of before.left) {
    if (leftMs < passedMs) continue
    const [kind, id = ''] = key.split(' ')
    const nowLeftMs = left.get(key)
    if (nowLeftMs !== undefined && nowLeftMs < leftMs - passedMs)
      throw new Violation('a jump of the clock ends nothing', `${key}: ${leftMs} to ${nowLeftMs}`)
    const ended =
      kind === 'deployment'
        ? deployments.find(id)?.StatusDescription.includes('progress deadline')
        : kind === 'evaluation' && evaluations.find(id)?.Status === 'complete'
    if (ended === true)
      throw new Violation('a jump of the clock ends nothing', `${key} had ${leftMs} ms left`)
  }
}
