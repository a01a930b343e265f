import type { Evaluation, JobNodeLoss } from '@reeve/contract'
import { isoFromMs, msFromNs, nsFromMs, parseDurationMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { inactivityMs, LIMITS, lockTtlMs, type WorkspaceRow } from '../../model/index.ts'
import {
  namespacedKey,
  put,
  SCHEDULED_WORKSPACES,
  type Change,
  type Tables,
} from '../../state/index.ts'

/** A deadline, and how long it was ahead when it was set. */
export interface StoredDeadline {
  readonly dueMs: number
  readonly durationMs: number
  /** Index of the commit that wrote its row last. */
  readonly modifyIndex: number
}

/** What the deadline is to be; the one it is where nothing is wrong with it. */
export type CorrectDeadline = (deadline: StoredDeadline) => number

interface IndexedRow {
  readonly ModifyIndex: number
}

interface StoredTime {
  /** Table and field. */
  readonly name: string
  /** The rows whose time is another one than before. */
  readonly corrections: (stored: StoredState, correct: CorrectDeadline) => readonly Change[]
}

export interface StoredState {
  readonly tables: Tables
  /** Global tokens are copies of those of another region, which corrects them. */
  readonly copiesGlobalTokens: boolean
}

/**
 * Every stored time that something waits for, and that was the clock of a server plus a duration.
 * When that clock is found to have been wrong, or jumps, these times are corrected. Where only the
 * time of creation tells how long it was, that moves too: the next correction needs the duration.
 *
 * Not corrected, because somebody named the time itself: `acl_tokens.ExpirationTime` without a TTL,
 * `authentication_tokens.expiresMs`, a `workspaces.autoDestroyAtMs` that was set directly, and the
 * times of a cron specification. Not corrected, because a time too far ahead is recognized where it
 * is read: when a task ended (`decideReschedule`), and when a run was created (`RunLoop`). Ages are
 * only read by garbage collection: what was written by a clock that was ahead is kept longer.
 */
export const STORED_TIMES: readonly StoredTime[] = [
  {
    name: 'periodic_launches.Done',
    corrections: ({ tables: { periodic_launches } }, correct) =>
      [...periodic_launches.rows()].flatMap((row) => {
        const dueMs = msFromNs(row.Done)
        // How far the schedule was carried out: never ahead of the clock.
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
    corrections: ({ tables }, correct) =>
      movedEvaluations(tables, correct).map(({ row, movedMs }) =>
        put('evaluations', {
          ...row,
          WaitUntil: movedIso(row.WaitUntil, movedMs),
          CreateTime: movedNs(row.CreateTime, movedMs),
        }),
      ),
  },
  {
    // Other evaluations of the job compare the time with the clock: an allocation that its node may
    // still run would be replaced, and one that is unknown given up, before the follow-up comes.
    name: 'allocations.AllocStates',
    corrections: ({ tables }, correct) =>
      movedEvaluations(tables, correct).flatMap(({ row: { ID, Namespace, JobID }, movedMs }) =>
        tables.allocations.rowsIn('job', namespacedKey(Namespace, JobID)).flatMap((row) => {
          const last = row.AllocStates?.at(-1)
          if (row.FollowupEvalID !== ID || last === undefined) return []
          const moved = { ...last, Time: movedIso(last.Time, movedMs) }
          const AllocStates = [...(row.AllocStates ?? []).slice(0, -1), moved]
          return [put('allocations', { ...row, AllocStates })]
        }),
      ),
  },
  {
    name: 'jobs.NodeLosses',
    corrections: ({ tables: { jobs } }, correct) =>
      jobs.rowsIn('lostNodes', 'yes').flatMap((row) => {
        const losses = row.NodeLosses ?? []
        const NodeLosses = losses.map((loss) => moveLoss(row, loss, correct))
        return NodeLosses.every((loss, at) => loss === losses[at])
          ? []
          : [put('jobs', { ...row, NodeLosses })]
      }),
  },
  {
    name: 'deployments.RequireProgressBy',
    corrections: ({ tables: { deployments } }, correct) =>
      [...deployments.keys()]
        .filter((id) => deployments.groupOf('active', id) !== undefined)
        .flatMap((id) => {
          const row = deployments.get(id)
          const groups = Object.entries(row.TaskGroups).flatMap(([name, state]) => {
            const deadlineMs = msFromNs(state.ProgressDeadline)
            const due = corrected(
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
    corrections: ({ tables: { nodes } }, correct) =>
      nodes.rowsIn('draining', 'yes').flatMap((row) => {
        if (row.DrainStrategy === null) return []
        const deadlineMs = msFromNs(row.DrainStrategy.Deadline)
        const time = row.DrainStrategy.ForceDeadline
        const due = corrected(row, { time, durationMs: deadlineMs }, correct)
        if (due === undefined) return []
        return [
          put('nodes', { ...row, DrainStrategy: { ...row.DrainStrategy, ForceDeadline: due } }),
        ]
      }),
  },
  {
    name: 'variable_locks.UntilMs',
    corrections: ({ tables: { variable_locks, variables } }, correct) =>
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
    corrections: ({ tables: { acl_tokens }, copiesGlobalTokens }, correct) =>
      [...acl_tokens.rows()].flatMap((row) => {
        const ttlMs = parseDurationMs(row.ExpirationTTL)
        if (row.ExpirationTime === null || ttlMs === undefined) return []
        if (row.Global && copiesGlobalTokens) return []
        const stored = { time: row.ExpirationTime, durationMs: ttlMs }
        const ExpirationTime = corrected(row, stored, correct)
        return ExpirationTime === undefined ? [] : [put('acl_tokens', { ...row, ExpirationTime })]
      }),
  },
  {
    name: 'one_time_tokens.ExpiresAt',
    corrections: ({ tables: { one_time_tokens } }, correct) =>
      [...one_time_tokens.rows()].flatMap((row) => {
        const stored = { time: row.ExpiresAt, durationMs: LIMITS.oneTimeTokenMs }
        const ExpiresAt = corrected(row, stored, correct)
        return ExpiresAt === undefined ? [] : [put('one_time_tokens', { ...row, ExpiresAt })]
      }),
  },
  {
    name: 'node_join_tokens.ExpiresAt',
    corrections: ({ tables: { node_join_tokens } }, correct) =>
      [...node_join_tokens.rows()].flatMap((row) => {
        const createdMs = Date.parse(row.CreateTime)
        const durationMs = Date.parse(row.ExpiresAt) - createdMs
        const ExpiresAt = corrected(row, { time: row.ExpiresAt, durationMs }, correct)
        if (ExpiresAt === undefined) return []
        const movedMs = Date.parse(ExpiresAt) - Date.parse(row.ExpiresAt)
        const CreateTime = isoFromMs(createdMs + movedMs)
        return [put('node_join_tokens', { ...row, ExpiresAt, CreateTime })]
      }),
  },
  {
    name: 'workspaces.autoDestroyAtMs',
    corrections: ({ tables: { workspaces } }, correct) =>
      workspaces.rowsIn('scheduled', SCHEDULED_WORKSPACES).flatMap((row) => {
        const { autoDestroyAtMs: dueMs, latestChangeMs } = row
        const durationMs = inactivityOf(row)
        // Otherwise the deadline was set directly.
        if (dueMs === null || durationMs === undefined || dueMs !== latestChangeMs + durationMs)
          return []
        const modifyIndex = workspaces.modifyIndexOf(row.id) ?? 0
        const autoDestroyAtMs = correct({ dueMs, durationMs, modifyIndex })
        if (autoDestroyAtMs === dueMs) return []
        const movedMs = autoDestroyAtMs - dueMs
        const moved = { autoDestroyAtMs, latestChangeMs: latestChangeMs + movedMs }
        return [put('workspaces', { ...row, ...moved })]
      }),
  },
]

function inactivityOf({ autoDestroyActivityDuration }: WorkspaceRow): number | undefined {
  return autoDestroyActivityDuration === null
    ? undefined
    : inactivityMs(autoDestroyActivityDuration)
}

interface MovedEvaluation {
  readonly row: Evaluation
  readonly movedMs: number
}

/** Evaluations that wait for another time than before. */
function movedEvaluations(
  { evaluations }: Tables,
  correct: CorrectDeadline,
): readonly MovedEvaluation[] {
  return evaluations.rowsIn('status', 'pending').flatMap((row) => {
    const createdMs = msFromNs(row.CreateTime)
    const durationMs = Date.parse(row.WaitUntil) - createdMs
    const due = corrected(row, { time: row.WaitUntil, durationMs }, correct)
    return due === undefined ? [] : [{ row, movedMs: Date.parse(due) - Date.parse(row.WaitUntil) }]
  })
}

/** A loss delays placements first, then counts until the next one is no longer related to it. */
function moveLoss(
  { ModifyIndex: modifyIndex }: IndexedRow,
  loss: JobNodeLoss,
  correct: CorrectDeadline,
): JobNodeLoss {
  const timeMs = msFromNs(loss.Time)
  const dueMs = Math.max(timeMs + LIMITS.nodeLossWindowMs, msFromNs(loss.ProbeUntil))
  // In whole milliseconds, as the evaluations that wait for the same times.
  const movedMs = Math.floor(correct({ dueMs, durationMs: dueMs - timeMs, modifyIndex })) - dueMs
  if (movedMs === 0) return loss
  return {
    ...loss,
    Time: movedNs(loss.Time, movedMs),
    RetryTime: movedNs(loss.RetryTime, movedMs),
    ProbeUntil: movedNs(loss.ProbeUntil, movedMs),
  }
}

function movedNs(timeNs: number, movedMs: number): number {
  return nsFromMs(msFromNs(timeNs) + movedMs)
}

function movedIso(time: string, movedMs: number): string {
  return isoFromMs(Date.parse(time) + movedMs)
}

/** The time as it is to be stored; undefined when there is none or it stays what it is. */
function corrected(
  { ModifyIndex: modifyIndex }: IndexedRow,
  { time, durationMs }: { readonly time: string; readonly durationMs: number },
  correct: CorrectDeadline,
): string | undefined {
  if (time === ZERO_TIME) return undefined
  const dueMs = Date.parse(time)
  const nextMs = correct({ dueMs, durationMs: Math.max(0, durationMs), modifyIndex })
  return nextMs === dueMs ? undefined : isoFromMs(nextMs)
}

/**
 * For times that an earlier process stored: none is further ahead than when it was set. One that is
 * was set by a clock that was ahead, and has all of its duration again from now on.
 */
export function atMostItsDuration(nowMs: number, toleranceMs: number): CorrectDeadline {
  return ({ dueMs, durationMs }) =>
    dueMs > nowMs + durationMs + toleranceMs ? nowMs + durationMs : dueMs
}

/** A change of the clock that was noticed. */
export interface ClockJump {
  readonly jumpMs: number
  /** The time after it. */
  readonly nowMs: number
  /** Index of the last commit before the clock was last seen without the jump. */
  readonly lastIndex: number
}

/**
 * For times that this process has waited for while its clock jumped: what was left of each stays
 * what it was. A row that was written after the clock was last checked may hold a time of the clock
 * that was set back: it stays if that clock can have set it.
 */
export function movedBy({ jumpMs, nowMs, lastIndex }: ClockJump): CorrectDeadline {
  return ({ dueMs, durationMs, modifyIndex }) => {
    const mayBeNew = jumpMs < 0 && modifyIndex > lastIndex
    if (mayBeNew && dueMs <= nowMs + durationMs) return dueMs
    const isDue = dueMs <= nowMs - jumpMs
    return isDue ? Math.min(dueMs, nowMs) : Math.min(dueMs + jumpMs, nowMs + durationMs)
  }
}
