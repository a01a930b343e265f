import type {
  PolicyCheckRow,
  PolicyCodeRow,
  PolicyEvaluationRow,
  RunRow,
  TaskStageRow,
} from '../../model/index.ts'
import { policyCodeBlobKey, put, type Change } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import {
  hasPolicySets,
  setsForWorkspace,
  type ApplicablePolicySet,
} from '../policy-sets/applicable-sets.ts'
import { listEvaluations, findTaskStage } from './find-run.ts'
import { withStatusTime } from './run-status.ts'

/** Snapshot of a policy set, including how it is evaluated. */
export interface PolicySetSnapshot extends ApplicablePolicySet {
  readonly toolVersion: string | null
  /** Evaluated in the task stage after the plan; otherwise in the policy check. */
  readonly usesTaskStage: boolean
}

/** Returns snapshots of the sets that apply to a workspace, sorted by name. */
export function snapshotPolicySets(
  context: Pick<GovernanceContext, 'store' | 'sealer'>,
  workspaceId: string,
): readonly PolicySetSnapshot[] {
  if (!hasPolicySets(context.store.tables)) return []
  return setsForWorkspace(context, workspaceId).map((set) => toSnapshot(context, set))
}

export function toSnapshot(
  { store }: Pick<GovernanceContext, 'store'>,
  set: ApplicablePolicySet,
): PolicySetSnapshot {
  const { agentEnabled, policyToolVersion } = store.tables.policy_sets.get(set.id)
  const isInStage = set.kind === 'opa' || agentEnabled
  return {
    ...set,
    toolVersion: policyToolVersion,
    usesTaskStage: isInStage,
    // In a task stage, native policies have only two levels.
    policies: isInStage ? set.policies.map(withStageLevel) : set.policies,
  }
}

function withStageLevel(policy: ApplicablePolicySet['policies'][number]): typeof policy {
  return policy.level === 'advisory' ? policy : { ...policy, level: 'mandatory' }
}

/** Serializes and encrypts snapshots, because parameters may be secret. */
export function sealSnapshots(
  { sealer }: GovernanceContext,
  sets: readonly PolicySetSnapshot[],
): string {
  return sealer.seal(JSON.stringify(sets))
}

export function unsealSnapshots(
  { sealer }: Pick<GovernanceContext, 'sealer'>,
  sealed: string,
): readonly PolicySetSnapshot[] {
  const sets: readonly PolicySetSnapshot[] = JSON.parse(sealer.open(sealed))
  // Snapshots of earlier server versions have no `secrets`.
  return sets.map((set) => ({ ...set, secrets: set.secrets ?? [] }))
}

/**
 * Keeps the code of snapshots until it is evaluated, even if the policies change: the plan
 * references the code as an owner.
 */
export function pinCodeChanges(
  { store, ids, clock }: GovernanceContext,
  sets: readonly PolicySetSnapshot[],
  plan: { readonly id: string; readonly organizationId: string },
): readonly Change[] {
  const hashes = new Set(sets.flatMap((set) => set.policies.map(({ codeHash }) => codeHash)))
  return [...hashes].flatMap((sha256) => {
    const [stored] = store.tables.policy_codes.rowsByIndex('blob', policyCodeBlobKey(sha256))
    if (stored === undefined) return []
    const row: PolicyCodeRow = {
      ...stored,
      id: newId(ids, 'policy-versions'),
      organizationId: plan.organizationId,
      ownerId: plan.id,
      createdMs: clock.nowMs(),
    }
    return [put('policy_codes', row)]
  })
}

type StageContext = Pick<GovernanceContext, 'ids' | 'clock' | 'store'>

/**
 * Returns the stage of a run before its plan. Clients list the stages once, right after they have
 * created the run, so a stage that is created later would never be shown.
 */
export function pendingStageChanges(
  context: StageContext,
  run: RunRow,
  sets: readonly PolicySetSnapshot[],
): readonly Change[] {
  const staged = sets.filter(({ usesTaskStage }) => usesTaskStage)
  return staged.length === 0
    ? []
    : newStageChanges(context, run, { sets: staged, status: 'pending' })
}

/** Returns the rows that callers can poll while the policies are evaluated. */
export function pendingEvaluationChanges(
  context: StageContext,
  run: RunRow,
  sets: readonly PolicySetSnapshot[],
): readonly Change[] {
  const staged = sets.filter(({ usesTaskStage }) => usesTaskStage)
  const existingStage = findTaskStage(context.store.tables, run.id)
  const stage =
    existingStage === undefined
      ? staged.length === 0
        ? []
        : newStageChanges(context, run, { sets: staged, status: 'running' })
      : startStageChanges(context, existingStage, staged)
  return staged.length < sets.length
    ? [...stage, put('policy_checks', newCheck(context, run))]
    : stage
}

function newCheck({ ids, clock }: StageContext, run: RunRow): PolicyCheckRow {
  return {
    ...runRef(run),
    id: newId(ids, 'policy-checks'),
    status: 'pending',
    statusMs: { 'pending-at': clock.nowMs() },
    durationMs: 0,
    sets: null,
    override: null,
  }
}

interface StageInput {
  readonly sets: readonly PolicySetSnapshot[]
  readonly status: 'pending' | 'running'
}

function newStageChanges(
  context: StageContext,
  run: RunRow,
  { sets, status }: StageInput,
): readonly Change[] {
  const nowMs = context.clock.nowMs()
  const stage: TaskStageRow = {
    ...runRef(run),
    id: newId(context.ids, 'task-stages'),
    status,
    statusMs: withStatusTime({}, status, nowMs),
    createdMs: nowMs,
    updatedMs: nowMs,
    override: null,
  }
  return [
    put('task_stages', stage),
    ...policyKinds(sets).map((kind) =>
      put('policy_evaluations', newEvaluation(context, stage, { kind, status, nowMs })),
    ),
  ]
}

/** The stage was created with the run; policies may have changed since. */
function startStageChanges(
  context: StageContext,
  stage: TaskStageRow,
  sets: readonly PolicySetSnapshot[],
): readonly Change[] {
  const nowMs = context.clock.nowMs()
  const kinds = policyKinds(sets)
  const existing = listEvaluations(context.store.tables, stage.id)
  // Without policies there is no evaluation that would end the stage.
  const status = kinds.length === 0 ? 'passed' : 'running'
  const added = kinds.filter((kind) => existing.every((one) => one.kind !== kind))
  return [
    put('task_stages', {
      ...stage,
      status,
      statusMs: withStatusTime(stage.statusMs, status, nowMs),
      updatedMs: nowMs,
    }),
    ...existing.map((one) => {
      const next = kinds.includes(one.kind) ? 'running' : 'unreachable'
      const statusMs = withStatusTime(one.statusMs, next, nowMs)
      return put('policy_evaluations', { ...one, status: next, statusMs, updatedMs: nowMs })
    }),
    ...added.map((kind) =>
      put('policy_evaluations', newEvaluation(context, stage, { kind, status: 'running', nowMs })),
    ),
  ]
}

function policyKinds(sets: readonly PolicySetSnapshot[]): readonly PolicySetSnapshot['kind'][] {
  return [...new Set(sets.map(({ kind }) => kind))]
}

function runRef({ organizationId, workspaceId, id: runId }: RunRow) {
  return { organizationId, workspaceId, runId }
}

interface EvaluationInput {
  readonly kind: PolicySetSnapshot['kind']
  readonly status: 'pending' | 'running'
  readonly nowMs: number
}

function newEvaluation(
  { ids }: StageContext,
  { organizationId, workspaceId, runId, id: stageId }: TaskStageRow,
  { kind, status, nowMs }: EvaluationInput,
): PolicyEvaluationRow {
  return {
    organizationId,
    workspaceId,
    runId,
    id: newId(ids, 'policy-evaluations'),
    stageId,
    kind,
    toolVersion: null,
    status,
    statusMs: withStatusTime({}, status, nowMs),
    counts: { 'advisory-failed': 0, 'mandatory-failed': 0, passed: 0, errored: 0 },
    createdMs: nowMs,
    updatedMs: nowMs,
  }
}
