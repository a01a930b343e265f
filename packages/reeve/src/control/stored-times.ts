import type { Evaluation, JobNodeLoss } from '@reeve/contract'
import { isoFromMs, msFromNs, nsFromMs, parseDurationMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { inactivityMs, LIMITS, lockTtlMs, type WorkspaceRow } from '../model/index.ts'
import { namespacedKey, put, SCHEDULED_KEY, type Change, type Tables } from '../state/index.ts'

/** A stored deadline with its original duration. */
interface StoredDeadline {
  readonly dueMs: number
  readonly durationMs: number
  /** Modify index of the row. */
  readonly modifyIndex: number
}

/** Returns the corrected deadline, or the same one if it is valid. */
export type CorrectDeadline = (deadline: StoredDeadline) => number

interface IndexedRow {
  readonly ModifyIndex: number
}

interface StoredTime {
  /** Table and field. */
  readonly name: string
  /** Changes of the rows whose time is corrected. */
  readonly correctionsOf: (stored: StoredTimesInput, correct: CorrectDeadline) => readonly Change[]
}

interface StoredTimesInput {
  readonly tables: Tables
  /** Whether global tokens are replicas of another region, which corrects them. */
  readonly copiesGlobalTokens: boolean
}

/**
 * All stored deadlines that were computed from a server clock plus a duration. They are corrected
 * if that clock was wrong or jumps. Where the duration follows from the creation time, that is
 * moved too, because the next correction needs the duration.
 *
 * Not corrected, because a caller set the time itself: `acl_tokens.ExpirationTime` without a TTL,
 * `authentication_tokens.expiresMs`, a `workspaces.autoDestroyAtMs` that was set directly, and the
 * times of a cron specification. Not corrected, because readers recognize a time in the future: the
 * end of tasks (`decideReschedule`) and the creation of runs (`RunWorker`). Ages are only read by
 * garbage collection; rows written by a fast clock are kept longer.
 */
export const STORED_TIMES: readonly StoredTime[] = [
  {
    name: 'periodic_launches.Done',
    correctionsOf: ({ tables: { periodic_launches } }, correct) =>
      [...periodic_launches.rows()].flatMap((row) => {
        const dueMs = msFromNs(row.Done)
        // The last processed time of the schedule is never in the future.
        const nextMs = Math.min(
          dueMs,
          correct({ dueMs, durationMs: 0, modifyIndex: row.ModifyIndex }),
        )
        return nextMs === dueMs
          ? []
          : [put('periodic_launches', { ...row, Done: nsFromMs(nextMs) })]
      }),
  },
  {
    name: 'evaluations.WaitUntil',
    correctionsOf: ({ tables }, correct) =>
      shiftedEvaluations(tables, correct).map(({ row, shiftMs }) =>
        put('evaluations', {
          ...row,
          WaitUntil: shiftIso(row.WaitUntil, shiftMs),
          CreateTime: shiftNs(row.CreateTime, shiftMs),
        }),
      ),
  },
  {
    // Other evaluations of the job compare this time with the clock. Without the correction, an
    // allocation that its node may still run would be replaced, and an unknown one marked lost,
    // before its follow-up runs.
    name: 'allocations.AllocStates',
    correctionsOf: ({ tables }, correct) =>
      shiftedEvaluations(tables, correct).flatMap(({ row: { ID, Namespace, JobID }, shiftMs }) =>
        tables.allocations.rowsByIndex('job', namespacedKey(Namespace, JobID)).flatMap((row) => {
          const last = row.AllocStates?.at(-1)
          if (row.FollowupEvalID !== ID || last === undefined) return []
          const moved = { ...last, Time: shiftIso(last.Time, shiftMs) }
          const AllocStates = [...(row.AllocStates ?? []).slice(0, -1), moved]
          return [put('allocations', { ...row, AllocStates })]
        }),
      ),
  },
  {
    name: 'jobs.NodeLosses',
    correctionsOf: ({ tables: { jobs } }, correct) =>
      jobs.rowsByIndex('lostNodes', 'yes').flatMap((row) => {
        const losses = row.NodeLosses ?? []
        const NodeLosses = losses.map((loss) => shiftLoss(row, loss, correct))
        return NodeLosses.every((loss, index) => loss === losses[index])
          ? []
          : [put('jobs', { ...row, NodeLosses })]
      }),
  },
  {
    name: 'deployments.RequireProgressBy',
    correctionsOf: ({ tables: { deployments } }, correct) =>
      [...deployments.keys()]
        .filter((id) => deployments.indexKeyOf('active', id) !== undefined)
        .flatMap((id) => {
          const row = deployments.get(id)
          const groups = Object.entries(row.TaskGroups).flatMap(([name, state]) => {
            const deadlineMs = msFromNs(state.ProgressDeadline)
            const due = correctedTime(
              row,
              { time: state.RequireProgressBy, durationMs: deadlineMs },
              correct,
            )
            return due === undefined ? [] : [[name, { ...state, RequireProgressBy: due }] as const]
          })
          if (groups.length === 0) return []
          const TaskGroups = { ...row.TaskGroups, ...Object.fromEntries(groups) }
          return [put('deployments', { ...row, TaskGroups })]
        }),
  },
  {
    name: 'nodes.DrainStrategy.ForceDeadline',
    correctionsOf: ({ tables: { nodes } }, correct) =>
      nodes.rowsByIndex('draining', 'yes').flatMap((row) => {
        if (row.DrainStrategy === null) return []
        const deadlineMs = msFromNs(row.DrainStrategy.Deadline)
        const time = row.DrainStrategy.ForceDeadline
        const due = correctedTime(row, { time, durationMs: deadlineMs }, correct)
        if (due === undefined) return []
        return [
          put('nodes', { ...row, DrainStrategy: { ...row.DrainStrategy, ForceDeadline: due } }),
        ]
      }),
  },
  {
    name: 'variable_locks.UntilMs',
    correctionsOf: ({ tables: { variable_locks, variables } }, correct) =>
      [...variable_locks.rows()].flatMap((row) => {
        const lock = variables.find(namespacedKey(row.Namespace, row.Path))?.Lock ?? undefined
        const durationMs = lock === undefined ? LIMITS.variableLockMsMax : lockTtlMs(lock)
        const { UntilMs: dueMs, ModifyIndex: modifyIndex } = row
        const UntilMs = correct({ dueMs, durationMs, modifyIndex })
        return UntilMs === row.UntilMs ? [] : [put('variable_locks', { ...row, UntilMs })]
      }),
  },
  {
    name: 'acl_tokens.ExpirationTime',
    correctionsOf: ({ tables: { acl_tokens }, copiesGlobalTokens }, correct) =>
      [...acl_tokens.rows()].flatMap((row) => {
        const ttlMs = parseDurationMs(row.ExpirationTTL)
        if (row.ExpirationTime === null || ttlMs === undefined) return []
        if (row.Global && copiesGlobalTokens) return []
        const stored = { time: row.ExpirationTime, durationMs: ttlMs }
        const ExpirationTime = correctedTime(row, stored, correct)
        return ExpirationTime === undefined ? [] : [put('acl_tokens', { ...row, ExpirationTime })]
      }),
  },
  {
    name: 'one_time_tokens.ExpiresAt',
    correctionsOf: ({ tables: { one_time_tokens } }, correct) =>
      [...one_time_tokens.rows()].flatMap((row) => {
        const stored = { time: row.ExpiresAt, durationMs: LIMITS.oneTimeTokenMs }
        const ExpiresAt = correctedTime(row, stored, correct)
        return ExpiresAt === undefined ? [] : [put('one_time_tokens', { ...row, ExpiresAt })]
      }),
  },
  {
    name: 'node_join_tokens.ExpiresAt',
    correctionsOf: ({ tables: { node_join_tokens } }, correct) =>
      [...node_join_tokens.rows()].flatMap((row) => {
        const createdMs = Date.parse(row.CreateTime)
        const durationMs = Date.parse(row.ExpiresAt) - createdMs
        const ExpiresAt = correctedTime(row, { time: row.ExpiresAt, durationMs }, correct)
        if (ExpiresAt === undefined) return []
        const shiftMs = Date.parse(ExpiresAt) - Date.parse(row.ExpiresAt)
        const CreateTime = isoFromMs(createdMs + shiftMs)
        return [put('node_join_tokens', { ...row, ExpiresAt, CreateTime })]
      }),
  },
  {
    name: 'workspaces.autoDestroyAtMs',
    correctionsOf: ({ tables: { workspaces } }, correct) =>
      workspaces.rowsByIndex('scheduled', SCHEDULED_KEY).flatMap((row) => {
        const { autoDestroyAtMs: dueMs, latestChangeMs } = row
        const durationMs = inactivityDurationMs(row)
        // Any other value was set directly.
        if (dueMs === null || durationMs === undefined || dueMs !== latestChangeMs + durationMs)
          return []
        const modifyIndex = workspaces.modifyIndexOf(row.id) ?? 0
        const autoDestroyAtMs = correct({ dueMs, durationMs, modifyIndex })
        if (autoDestroyAtMs === dueMs) return []
        const shiftMs = autoDestroyAtMs - dueMs
        const moved = { autoDestroyAtMs, latestChangeMs: latestChangeMs + shiftMs }
        return [put('workspaces', { ...row, ...moved })]
      }),
  },
]

function inactivityDurationMs({ autoDestroyActivityDuration }: WorkspaceRow): number | undefined {
  return autoDestroyActivityDuration === null
    ? undefined
    : inactivityMs(autoDestroyActivityDuration)
}

interface ShiftedEvaluation {
  readonly row: Evaluation
  readonly shiftMs: number
}

/** Pending evaluations whose time is corrected. */
function shiftedEvaluations(
  { evaluations }: Tables,
  correct: CorrectDeadline,
): readonly ShiftedEvaluation[] {
  return evaluations.rowsByIndex('status', 'pending').flatMap((row) => {
    const createdMs = msFromNs(row.CreateTime)
    const durationMs = Date.parse(row.WaitUntil) - createdMs
    const due = correctedTime(row, { time: row.WaitUntil, durationMs }, correct)
    return due === undefined ? [] : [{ row, shiftMs: Date.parse(due) - Date.parse(row.WaitUntil) }]
  })
}

/**
 * A node loss first delays placements, then counts as related to further losses until its window
 * ends.
 */
function shiftLoss(
  { ModifyIndex: modifyIndex }: IndexedRow,
  loss: JobNodeLoss,
  correct: CorrectDeadline,
): JobNodeLoss {
  const timeMs = msFromNs(loss.Time)
  const dueMs = Math.max(timeMs + LIMITS.nodeLossWindowMs, msFromNs(loss.ProbeUntil))
  // Whole milliseconds, like the evaluations due at the same times.
  const shiftMs = Math.floor(correct({ dueMs, durationMs: dueMs - timeMs, modifyIndex })) - dueMs
  if (shiftMs === 0) return loss
  return {
    ...loss,
    Time: shiftNs(loss.Time, shiftMs),
    RetryTime: shiftNs(loss.RetryTime, shiftMs),
    ProbeUntil: shiftNs(loss.ProbeUntil, shiftMs),
  }
}

function shiftNs(timeNs: number, shiftMs: number): number {
  return nsFromMs(msFromNs(timeNs) + shiftMs)
}

function shiftIso(time: string, shiftMs: number): string {
  return isoFromMs(Date.parse(time) + shiftMs)
}

/** Returns the corrected time; undefined if there is none or it does not change. */
function correctedTime(
  { ModifyIndex: modifyIndex }: IndexedRow,
  { time, durationMs }: { readonly time: string; readonly durationMs: number },
  correct: CorrectDeadline,
): string | undefined {
  if (time === ZERO_TIME) return undefined
  const dueMs = Date.parse(time)
  const correctedMs = correct({ dueMs, durationMs: Math.max(0, durationMs), modifyIndex })
  return correctedMs === dueMs ? undefined : isoFromMs(correctedMs)
}

/**
 * Correction at startup: a deadline is never further ahead than its duration. If it is, a fast
 * clock set it, and its full duration starts now.
 */
export function capAtDuration(nowMs: number, toleranceMs: number): CorrectDeadline {
  return ({ dueMs, durationMs }) =>
    dueMs > nowMs + durationMs + toleranceMs ? nowMs + durationMs : dueMs
}

/** A detected change of the clock. */
interface ClockJump {
  readonly jumpMs: number
  /** Time after the jump. */
  readonly nowMs: number
  /** Log index of the last check without the jump. */
  readonly lastCheckedIndex: number
}

/**
 * Correction after a jump of the clock: the remaining time of each deadline stays the same. A row
 * written since the last check may hold a time of the new clock, and is kept if the new clock can
 * have set it.
 */
export function shiftByJump({ jumpMs, nowMs, lastCheckedIndex }: ClockJump): CorrectDeadline {
  return ({ dueMs, durationMs, modifyIndex }) => {
    const mayBeWrittenAfterJump = jumpMs < 0 && modifyIndex > lastCheckedIndex
    if (mayBeWrittenAfterJump && dueMs <= nowMs + durationMs) return dueMs
    const wasDue = dueMs <= nowMs - jumpMs
    return wasDue ? Math.min(dueMs, nowMs) : Math.min(dueMs + jumpMs, nowMs + durationMs)
  }
}
