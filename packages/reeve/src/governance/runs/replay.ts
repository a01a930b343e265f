import { v2 } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { invalidAttribute, type GovernanceRefusal, type RunPolicyRow } from '../../model/index.ts'
import {
  toPolicyOutcome,
  type PolicyInvocation,
  type PolicyResult,
  type EngineInput,
  type PolicyInput,
} from '../../policy/index.ts'
import {
  policyInputBlobKey,
  jobVersionKey,
  policySetMemberIndexKey,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { findPolicy } from '../policies/find-policy.ts'
import { runInput, truncateResult } from './evaluate-sets.ts'
import { readPlanBytes } from './plans.ts'
import {
  previewOrigin,
  resolveParams,
  resolveDraft,
  type PolicyDraft,
  asJsonObject,
} from './dry-run.ts'

interface ReplayRequest extends PolicyDraft {
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

/** Maximum number of jobs whose versions are replayed. Runs and verdicts do not count. */
const JOBS_MAX = 20_000

/** A past event for which a policy can be evaluated. */
interface ReplayCandidate {
  readonly type: (typeof v2.REPLAY_SUBJECTS)[number]
  /** Sort key: the index at which it was created. */
  readonly createIndex: number
  readonly key: string
  readonly table: 'runs' | 'job_versions' | 'policy_verdicts'
}

/** Returns the subjects of an organization that can be replayed, newest first. */
function listReplayCandidates(
  tables: Tables,
  organizationId: string,
  types: ReadonlySet<ReplayCandidate['type']>,
): readonly ReplayCandidate[] {
  const found: ReplayCandidate[] = []
  let jobCount = 0
  const add = (table: ReplayCandidate['table'], keys: Iterable<string>): void => {
    for (const key of keys) {
      const createIndex = tables[table].createIndexOf(key) ?? 0
      found.push({ type: table === 'runs' ? 'runs' : 'jobs', createIndex, key, table })
    }
  }
  if (types.has('runs')) add('runs', tables.runs.keysByIndex('organization', organizationId))
  if (types.has('jobs'))
    for (const namespace of policyNamespaces(tables, organizationId)) {
      add('policy_verdicts', tables.policy_verdicts.keysByIndex('namespace', namespace))
      for (const job of tables.jobs.keysByIndex('namespace', namespace)) {
        if (jobCount >= JOBS_MAX) break
        jobCount++
        add('job_versions', tables.job_versions.keysByIndex('job', job))
      }
    }
  return found.toSorted(compareNewest)
}

function compareNewest(
  a: Pick<ReplayCandidate, 'createIndex' | 'key'>,
  b: Pick<ReplayCandidate, 'createIndex' | 'key'>,
): number {
  return b.createIndex - a.createIndex || compareText(a.key, b.key)
}

/** Returns the namespaces that the policies of an organization can apply to. */
function policyNamespaces(tables: Tables, organizationId: string): ReadonlySet<string> {
  const found = new Set(tables.project_namespaces.keysByIndex('organization', organizationId))
  for (const setId of tables.policy_sets.keysByIndex('organization', organizationId)) {
    const group = policySetMemberIndexKey(setId, 'namespaces')
    for (const { memberId } of tables.policy_set_members.rowsByIndex('relation', group)) {
      const owner = tables.project_namespaces.find(memberId)?.organizationId
      if ((owner ?? organizationId) === organizationId) found.add(memberId)
    }
  }
  return found
}

/** A past subject in the form that policies receive. */
interface ReplayInput {
  readonly input: EngineInput
  readonly identity: Pick<v2.ReplayedSubject, 'type' | 'id' | 'version'>
  readonly createdMs: number | null
  /** Bytes read to load it. */
  readonly bytes: number
}

/**
 * Loads a subject; undefined if there is nothing to evaluate, because it has no plan or was
 * deleted.
 */
async function loadReplayInput(
  context: GovernanceContext,
  candidate: ReplayCandidate,
): Promise<ReplayInput | undefined> {
  switch (candidate.table) {
    case 'runs':
      return await loadRunInput(context, candidate.key)
    case 'job_versions':
      return loadJobVersion(context, candidate.key)
    case 'policy_verdicts':
      return await loadRecordedDecision(context, candidate.key)
  }
}

async function loadRunInput(
  context: GovernanceContext,
  key: string,
): Promise<ReplayInput | undefined> {
  const { runs, run_plans: plans } = context.store.tables
  const run = runs.find(key)
  const plan = run === undefined ? undefined : plans.find(run.planId)
  if (run === undefined || plan === undefined) return undefined
  const bytes = await readPlanBytes(context, plan)
  // Deleted meanwhile, with its workspace.
  if (bytes === undefined || !runs.has(key)) return undefined
  return {
    input: { kind: 'stored-plan', bytes, run: runInput(context, run) },
    identity: { type: 'runs', id: run.id, version: null },
    createdMs: run.createdMs,
    bytes: plan.bytes ?? 0,
  }
}

function loadJobVersion({ store }: GovernanceContext, key: string): ReplayInput | undefined {
  const { job_versions: versions } = store.tables
  const job = versions.find(key)
  if (job === undefined) return undefined
  const { Namespace: namespace, ID, Version: version } = job
  const before = version === 0 ? undefined : jobVersionKey(namespace, ID, version - 1)
  const existing = before === undefined ? undefined : versions.find(before)
  return {
    input: jobInput(namespace, { ...job }, existing === undefined ? undefined : { ...existing }),
    identity: { type: 'jobs', id: `${namespace}/${ID}`, version },
    createdMs: msFromNs(job.SubmitTime),
    bytes: versions.rowJsonOf(key)?.length ?? 0,
  }
}

/** Loads a denied or overridden submission in the form that policies received. */
async function loadRecordedDecision(
  { store }: GovernanceContext,
  key: string,
): Promise<ReplayInput | undefined> {
  const verdict = store.tables.policy_verdicts.find(key)
  if (verdict?.HasSubject !== true) return undefined
  await store.whenDurable()
  const bytes = await store.readBlob(policyInputBlobKey(verdict.SubjectHash))
  if (bytes === undefined) return undefined
  const job: Record<string, unknown> = JSON.parse(new TextDecoder().decode(bytes))
  const { Namespace: namespace, JobID } = verdict
  return {
    input: jobInput(namespace, job, undefined),
    identity: { type: 'jobs', id: `${namespace}/${JobID}`, version: null },
    createdMs: msFromNs(verdict.Time),
    bytes: bytes.length,
  }
}

/** The submitter and the variables of that time are not stored. */
function jobInput(
  namespace: string,
  job: Readonly<Record<string, unknown>>,
  existing: Readonly<Record<string, unknown>> | undefined,
): PolicyInput {
  return {
    kind: 'job',
    job: asJsonObject(job),
    existingJob: existing === undefined ? undefined : asJsonObject(existing),
    namespace,
    token: undefined,
    variables: new Map(),
  }
}
