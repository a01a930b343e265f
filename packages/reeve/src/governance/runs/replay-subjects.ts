import type { v2 } from '@reeve/contract'
import { msFromNs } from '@reeve/kit/duration.ts'
import type { AskedSubject, Subject } from '../../policy/index.ts'
import {
  judgedJobKey,
  jobVersionKey,
  policySetMemberGroup,
  type Tables,
} from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { runSubject } from './run-subject.ts'
import { plain } from './try-policy.ts'
import { readStoredBytes } from './plan-blobs.ts'

/** Jobs whose versions are replayed; larger namespaces are truncated. */
const JOBS_MAX = 20_000

/** A past event for which a policy can be evaluated. */
export interface PastSubject {
  readonly type: (typeof v2.REPLAY_SUBJECTS)[number]
  /** Sort key: the index at which it was created. */
  readonly createIndex: number
  readonly key: string
  readonly from: 'runs' | 'job_versions' | 'policy_verdicts'
}

/** Returns the subjects of an organization that can be replayed, newest first. */
export function pastSubjects(
  tables: Tables,
  organizationId: string,
  types: ReadonlySet<PastSubject['type']>,
): readonly PastSubject[] {
  const found: PastSubject[] = []
  const add = (from: PastSubject['from'], keys: Iterable<string>): void => {
    for (const key of keys) {
      const createIndex = tables[from].createIndexOf(key) ?? 0
      found.push({ type: from === 'runs' ? 'runs' : 'jobs', createIndex, key, from })
    }
  }
  if (types.has('runs')) add('runs', tables.runs.keysIn('organization', organizationId))
  if (types.has('jobs'))
    for (const namespace of namespacesOf(tables, organizationId)) {
      add('policy_verdicts', tables.policy_verdicts.keysIn('namespace', namespace))
      for (const job of tables.jobs.keysIn('namespace', namespace)) {
        if (found.length >= JOBS_MAX) break
        add('job_versions', tables.job_versions.keysIn('job', job))
      }
    }
  return found.toSorted(compareNewest)
}

export function compareNewest(
  a: Pick<PastSubject, 'createIndex' | 'key'>,
  b: Pick<PastSubject, 'createIndex' | 'key'>,
): number {
  return b.createIndex - a.createIndex || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)
}

/** Returns the namespaces that the policies of an organization can apply to. */
function namespacesOf(tables: Tables, organizationId: string): ReadonlySet<string> {
  const found = new Set(tables.project_namespaces.keysIn('organization', organizationId))
  for (const setId of tables.policy_sets.keysIn('organization', organizationId)) {
    const group = policySetMemberGroup(setId, 'namespaces')
    for (const { memberId } of tables.policy_set_members.rowsIn('relation', group)) {
      const owner = tables.project_namespaces.find(memberId)?.organizationId
      if ((owner ?? organizationId) === organizationId) found.add(memberId)
    }
  }
  return found
}

/** A past subject in the form that policies receive. */
export interface LoadedSubject {
  readonly subject: AskedSubject
  readonly shown: Pick<v2.ReplayedSubject, 'type' | 'id' | 'version'>
  readonly createdMs: number | null
  /** Bytes read to load it. */
  readonly bytes: number
}

/**
 * Loads a subject; undefined if there is nothing to evaluate, because it has no plan or was
 * deleted.
 */
export async function loadSubject(
  context: GovernanceContext,
  past: PastSubject,
): Promise<LoadedSubject | undefined> {
  switch (past.from) {
    case 'runs':
      return await loadRun(context, past.key)
    case 'job_versions':
      return loadVersion(context, past.key)
    case 'policy_verdicts':
      return await loadDenied(context, past.key)
  }
}

async function loadRun(
  context: GovernanceContext,
  key: string,
): Promise<LoadedSubject | undefined> {
  const { runs, run_plans: plans } = context.store.tables
  const run = runs.find(key)
  const stored = run === undefined ? undefined : plans.find(run.planId)
  if (run === undefined || stored === undefined) return undefined
  const bytes = await readStoredBytes(context, stored)
  // Deleted meanwhile, with its workspace.
  if (bytes === undefined || !runs.has(key)) return undefined
  return {
    subject: { kind: 'stored-plan', bytes, run: runSubject(context, run) },
    shown: { type: 'runs', id: run.id, version: null },
    createdMs: run.createdMs,
    bytes: stored.bytes ?? 0,
  }
}

function loadVersion({ store }: GovernanceContext, key: string): LoadedSubject | undefined {
  const { job_versions: versions } = store.tables
  const job = versions.find(key)
  if (job === undefined) return undefined
  const { Namespace: namespace, ID, Version: version } = job
  const before = version === 0 ? undefined : jobVersionKey(namespace, ID, version - 1)
  const existing = before === undefined ? undefined : versions.find(before)
  return {
    subject: jobSubject(
      namespace,
      { ...job },
      existing === undefined ? undefined : { ...existing },
    ),
    shown: { type: 'jobs', id: `${namespace}/${ID}`, version },
    createdMs: msFromNs(job.SubmitTime),
    bytes: versions.bodyOf(key)?.length ?? 0,
  }
}

/** Loads a denied or overridden submission in the form that policies received. */
async function loadDenied(
  { store }: GovernanceContext,
  key: string,
): Promise<LoadedSubject | undefined> {
  const verdict = store.tables.policy_verdicts.find(key)
  if (verdict?.HasSubject !== true) return undefined
  await store.settled()
  const bytes = await store.readBlob(judgedJobKey(verdict.SubjectHash))
  if (bytes === undefined) return undefined
  const job: Record<string, unknown> = JSON.parse(new TextDecoder().decode(bytes))
  const { Namespace: namespace, JobID } = verdict
  return {
    subject: jobSubject(namespace, job, undefined),
    shown: { type: 'jobs', id: `${namespace}/${JobID}`, version: null },
    createdMs: msFromNs(verdict.Time),
    bytes: bytes.length,
  }
}

/** The submitter and the variables of that time are not stored. */
function jobSubject(
  namespace: string,
  job: Readonly<Record<string, unknown>>,
  existing: Readonly<Record<string, unknown>> | undefined,
): Subject {
  return {
    kind: 'job',
    job: plain(job),
    existingJob: existing === undefined ? undefined : plain(existing),
    namespace,
    token: undefined,
    variables: new Map(),
  }
}
