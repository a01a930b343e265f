import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalid, type GovernanceRefusal, type RunPolicyRow } from '../../model/index.ts'
import { outcomeOf, type AskedPolicy, type Judgement } from '../../policy/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicy } from '../policies/find-policy.ts'
import { bounded } from './judge-sets.ts'
import {
  compareNewest,
  loadSubject,
  pastSubjects,
  type LoadedSubject,
  type PastSubject,
} from './replay-subjects.ts'
import { trialOf, triedParams, triedText, type TriedChange } from './try-policy.ts'

export interface PolicyReplay extends TriedChange {
  readonly policyId: string
  readonly subjects?: readonly PastSubject['type'][] | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | null | undefined
}

/**
 * Evaluates a policy for past runs or submissions. Each page evaluates a bounded number of subjects
 * and bytes, and returns the start of the next one.
 */
export async function replayPolicy(
  context: GovernanceContext,
  caller: GovernanceCaller,
  wish: PolicyReplay,
): Promise<Result<v2.PolicyReplay['attributes'], GovernanceRefusal>> {
  const seen = findPolicy(context, caller, { policyId: wish.policyId, right: 'update' })
  if (!seen.ok) return seen
  const from = readCursor(wish.cursor ?? null)
  if (!from.ok) return from
  const { policy: row, organization } = seen.value
  const params = triedParams(wish)
  if (!params.ok) return params
  const text = await triedText(context, row, wish)
  if (!text.ok) return text
  const policy = { policy: text.value, params: params.value }
  const types = new Set(wish.subjects ?? v2.REPLAY_SUBJECTS)
  const past = pastSubjects(context.store.tables, organization.id, types)
  const start = from.value
  const waiting = start === undefined ? past : past.filter((one) => compareNewest(one, start) >= 0)
  return ok(await judgePage(context, { policy, row, waiting, limit: wish.limit }))
}

interface Page {
  readonly policy: AskedPolicy
  readonly row: RunPolicyRow
  readonly waiting: readonly PastSubject[]
  readonly limit: number | undefined
}

async function judgePage(
  context: GovernanceContext,
  { policy, row, waiting, limit = v2.REPLAY_PAGE_DEFAULT }: Page,
): Promise<v2.PolicyReplay['attributes']> {
  const results: v2.ReplayedSubject[] = []
  let bytes = 0
  let next: PastSubject | undefined
  for (const past of waiting) {
    if (results.length >= limit || bytes >= v2.REPLAY_PAGE_BYTES_MAX) {
      next = past
      break
    }
    const loaded = await loadSubject(context, past)
    if (loaded === undefined) continue
    bytes += loaded.bytes
    const [said] = await context.policyAsker.ask(
      loaded.subject,
      [policy],
      trialOf(row.organizationId),
    )
    if (said !== undefined) results.push(replayed(row, loaded, said))
  }
  const skipped = results.filter((one) => one.skipped !== undefined).length
  return {
    judged: results.length - skipped,
    'would-deny': results.filter((one) => one['would-deny']).length,
    skipped,
    results,
    'next-cursor': next === undefined ? null : cursorOf(next),
  }
}

function replayed(
  row: RunPolicyRow,
  { shown, createdMs }: LoadedSubject,
  said: Judgement,
): v2.ReplayedSubject {
  const level = row.enforcementLevel
  const outcome = outcomeOf({ ...row, level }, bounded(said).judgement, false)
  const { status, findings, skipped } = outcome
  return {
    ...shown,
    'created-at': createdMs === null ? null : new Date(createdMs).toISOString(),
    status,
    'would-deny': status !== 'passed' && level !== 'advisory',
    findings,
    ...(skipped === undefined ? {} : { skipped }),
  }
}

function cursorOf({ createIndex, key }: PastSubject): string {
  return `${createIndex}:${key}`
}

function readCursor(
  text: string | null,
): Result<Pick<PastSubject, 'createIndex' | 'key'> | undefined, GovernanceRefusal> {
  if (text === null || text === '') return ok(undefined)
  const [, index, key] = /^(\d{1,15}):(.*)$/s.exec(text) ?? []
  if (index === undefined || key === undefined)
    return err(invalid('/data/attributes/cursor', 'Cursor is not one of a page before'))
  return ok({ createIndex: Number(index), key })
}
