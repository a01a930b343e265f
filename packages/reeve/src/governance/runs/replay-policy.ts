import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalidAttribute, type GovernanceRefusal, type RunPolicyRow } from '../../model/index.ts'
import { toPolicyOutcome, type PolicyInvocation, type PolicyResult } from '../../policy/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicy } from '../policies/find-policy.ts'
import { truncateResult } from './judge-sets.ts'
import {
  compareNewest,
  loadReplayInput,
  listReplayCandidates,
  type ReplayInput,
  type ReplayCandidate,
} from './replay-subjects.ts'
import { previewOrigin, resolveParams, resolveDraft, type PolicyDraft } from './try-policy.ts'

export interface ReplayRequest extends PolicyDraft {
  readonly policyId: string
  readonly subjects?: readonly ReplayCandidate['type'][] | undefined
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
  request: ReplayRequest,
): Promise<Result<v2.PolicyReplay['attributes'], GovernanceRefusal>> {
  const found = findPolicy(context, caller, { policyId: request.policyId, right: 'update' })
  if (!found.ok) return found
  const cursor = parseCursor(request.cursor ?? null)
  if (!cursor.ok) return cursor
  const { policy: row, organization } = found.value
  const params = resolveParams(request)
  if (!params.ok) return params
  const definition = await resolveDraft(context, row, request)
  if (!definition.ok) return definition
  const policy = { policy: definition.value, params: params.value }
  const types = new Set(request.subjects ?? v2.REPLAY_SUBJECTS)
  const candidates = listReplayCandidates(context.store.tables, organization.id, types)
  const start = cursor.value
  const remaining =
    start === undefined ? candidates : candidates.filter((one) => compareNewest(one, start) >= 0)
  return ok(
    await evaluatePage(context, { policy, row, candidates: remaining, limit: request.limit }),
  )
}

interface ReplayPage {
  readonly policy: PolicyInvocation
  readonly row: RunPolicyRow
  readonly candidates: readonly ReplayCandidate[]
  readonly limit: number | undefined
}

async function evaluatePage(
  context: GovernanceContext,
  { policy, row, candidates, limit = v2.REPLAY_PAGE_DEFAULT }: ReplayPage,
): Promise<v2.PolicyReplay['attributes']> {
  const results: v2.ReplayedSubject[] = []
  let bytes = 0
  let next: ReplayCandidate | undefined
  for (const candidate of candidates) {
    if (results.length >= limit || bytes >= v2.REPLAY_PAGE_BYTES_MAX) {
      next = candidate
      break
    }
    const loaded = await loadReplayInput(context, candidate)
    if (loaded === undefined) continue
    bytes += loaded.bytes
    const [result] = await context.policyEngine.evaluate(
      loaded.input,
      [policy],
      previewOrigin(row.organizationId),
    )
    if (result !== undefined) results.push(toReplayedSubject(row, loaded, result))
  }
  const skipped = results.filter((one) => one.skipped !== undefined).length
  return {
    judged: results.length - skipped,
    'would-deny': results.filter((one) => one['would-deny']).length,
    skipped,
    results,
    'next-cursor': next === undefined ? null : formatCursor(next),
  }
}

function toReplayedSubject(
  row: RunPolicyRow,
  { identity, createdMs }: ReplayInput,
  result: PolicyResult,
): v2.ReplayedSubject {
  const level = row.enforcementLevel
  const outcome = toPolicyOutcome({ ...row, level }, truncateResult(result).result, false)
  const { status, findings, skipped } = outcome
  return {
    ...identity,
    'created-at': createdMs === null ? null : new Date(createdMs).toISOString(),
    status,
    'would-deny': status !== 'passed' && level !== 'advisory',
    findings,
    ...(skipped === undefined ? {} : { skipped }),
  }
}

function formatCursor({ createIndex, key }: ReplayCandidate): string {
  return `${createIndex}:${key}`
}

function parseCursor(
  text: string | null,
): Result<Pick<ReplayCandidate, 'createIndex' | 'key'> | undefined, GovernanceRefusal> {
  if (text === null || text === '') return ok(undefined)
  const [, index, key] = /^(\d{1,15}):(.*)$/s.exec(text) ?? []
  if (index === undefined || key === undefined)
    return err(invalidAttribute('/data/attributes/cursor', 'Cursor is not one of a page before'))
  return ok({ createIndex: Number(index), key })
}
