import { isoFromMs, msFromNs, nsFromMs, parseDurationMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { LIMITS, lockTtlMs } from '../../model/index.ts'
import { namespacedKey, put, type Change, type Tables } from '../../state/index.ts'

/** A deadline, and how long it was ahead when it was set. */
export interface StoredDeadline {
  readonly dueMs: number
  readonly durationMs: number
}

/** What the deadline is to be; the one it is where nothing is wrong with it. */
export type CorrectDeadline = (deadline: StoredDeadline) => number

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
 * `authentication_tokens.expiresMs`, `workspaces.autoDestroyAtMs`, and the times of a cron
 * specification. Not corrected, because a time too far ahead is recognized where it is read:
 * `jobs.NodeLosses` (`placementPhase`), when an allocation became unknown (`contactWith`), when a
 * task ended (`decideReschedule`), and when a run was created (`RunLoop`). Ages are only read by
 * garbage collection: what was written by a clock that was ahead is kept longer.
 */
export const STORED_TIMES: readonly StoredTime[] = [
  {
    name: 'periodic_launches.Done',
    corrections: ({ tables: { periodic_launches } }, correct) =>
      [...periodic_launches.rows()].flatMap((row) => {
        const dueMs = msFromNs(row.Done)
        // How far the schedule was carried out: never ahead of the clock.
        const nextMs = Math.min(dueMs, correct({ dueMs, durationMs: 0 }))
        return nextMs === dueMs
          ? []
          : [put('periodic_launches', { ...row, Done: nsFromMs(nextMs) })]
      }),
  },
  {
    name: 'evaluations.WaitUntil',
    corrections: ({ tables: { evaluations } }, correct) =>
      evaluations.rowsIn('status', 'pending').flatMap((row) => {
        const createdMs = msFromNs(row.CreateTime)
        const WaitUntil = corrected(row.WaitUntil, (dueMs) => dueMs - createdMs, correct)
        if (WaitUntil === undefined) return []
        const CreateTime = nsFromMs(createdMs + Date.parse(WaitUntil) - Date.parse(row.WaitUntil))
        return [put('evaluations', { ...row, WaitUntil, CreateTime })]
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
            const due = corrected(state.RequireProgressBy, () => deadlineMs, correct)
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
        const due = corrected(row.DrainStrategy.ForceDeadline, () => deadlineMs, correct)
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
        const UntilMs = correct({ dueMs: row.UntilMs, durationMs })
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
        const ExpirationTime = corrected(row.ExpirationTime, () => ttlMs, correct)
        return ExpirationTime === undefined ? [] : [put('acl_tokens', { ...row, ExpirationTime })]
      }),
  },
  {
    name: 'one_time_tokens.ExpiresAt',
    corrections: ({ tables: { one_time_tokens } }, correct) =>
      [...one_time_tokens.rows()].flatMap((row) => {
        const ExpiresAt = corrected(row.ExpiresAt, () => LIMITS.oneTimeTokenMs, correct)
        return ExpiresAt === undefined ? [] : [put('one_time_tokens', { ...row, ExpiresAt })]
      }),
  },
  {
    name: 'node_join_tokens.ExpiresAt',
    corrections: ({ tables: { node_join_tokens } }, correct) =>
      [...node_join_tokens.rows()].flatMap((row) => {
        const createdMs = Date.parse(row.CreateTime)
        const ExpiresAt = corrected(row.ExpiresAt, (dueMs) => dueMs - createdMs, correct)
        if (ExpiresAt === undefined) return []
        const movedMs = Date.parse(ExpiresAt) - Date.parse(row.ExpiresAt)
        const CreateTime = isoFromMs(createdMs + movedMs)
        return [put('node_join_tokens', { ...row, ExpiresAt, CreateTime })]
      }),
  },
]

/** The time as it is to be stored; undefined when there is none or it stays what it is. */
function corrected(
  time: string,
  durationMs: (dueMs: number) => number,
  correct: CorrectDeadline,
): string | undefined {
  if (time === ZERO_TIME) return undefined
  const dueMs = Date.parse(time)
  const nextMs = correct({ dueMs, durationMs: Math.max(0, durationMs(dueMs)) })
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

/**
 * For times that this process has waited for while its clock jumped: what was left of each stays
 * what it was.
 * @param nowMs the time after the jump
 */
export function movedBy(jumpMs: number, nowMs: number): CorrectDeadline {
  return ({ dueMs, durationMs }) => {
    const isDue = dueMs <= nowMs - jumpMs
    return isDue ? Math.min(dueMs, nowMs) : Math.min(dueMs + jumpMs, nowMs + durationMs)
  }
}
