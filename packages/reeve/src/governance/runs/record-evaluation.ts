import type { v2 } from '@reeve/contract'
import type {
  PolicySetResultRow,
  PolicyCheckRow,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
  RunPlanRow,
  RunRow,
  TaskStageRow,
} from '../../model/index.ts'
import { decideEnforcement, enforcementEffect } from '../../policy/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicyCheck, listEvaluations, findTaskStage } from './find-run.ts'
import { saveRunChanges, unpinCodeChanges } from './run-changes.ts'
import type { PolicySetSnapshot } from './policy-set-snapshots.ts'
import { nextAfterStage, canApply, transitionRun, withStatusTime } from './run-status.ts'

interface RunEvaluation {
  readonly run: RunRow
  readonly plan: RunPlanRow
  readonly sets: readonly PolicySetSnapshot[]
  /** One result for each of `sets`. */
  readonly results: readonly PolicySetResultRow[]
  readonly durationMs: number
}

type RecordContext = Pick<GovernanceContext, 'store' | 'ids' | 'clock'>

/** Returns the changes that record the result of a run's policy evaluation. */
export function recordEvaluationChanges(
  context: RecordContext,
  evaluation: RunEvaluation,
): readonly Change[] {
  const { tables } = context.store
  const nowMs = context.clock.nowMs()
  const { run, plan } = evaluation
  const resultsIn = (isInStage: boolean): readonly PolicySetResultRow[] =>
    evaluation.results.filter((_set, index) => evaluation.sets[index]?.usesTaskStage === isInStage)
  const stage = findTaskStage(tables, run.id)
  const stageResults = resultsIn(true)
  const stageStatus = stage === undefined ? undefined : taskStageStatus(stageResults, canApply(run))
  const check = findPolicyCheck(tables, run.id)
  const checkResults = resultsIn(false)
  const checkStatus = check === undefined ? undefined : policyCheckStatus(checkResults)
  const progress = nextAfterStage({ run, stage: stageStatus, check: checkStatus })
  return [
    ...saveRunChanges(tables, transitionRun(run, progress.path, nowMs), nowMs),
    put('run_plans', { ...plan, frozenSets: null }),
    ...unpinCodeChanges(tables, plan.id),
    ...(stage === undefined || stageStatus === undefined
      ? []
      : [
          put('task_stages', withStageStatus(stage, stageStatus, nowMs)),
          ...listEvaluations(tables, stage.id).flatMap((one) =>
            evaluationChanges(context, one, { ...evaluation, nowMs }),
          ),
        ]),
    ...(check === undefined || progress.check === undefined
      ? []
      : [
          put(
            'policy_checks',
            withCheckResult(check, {
              ...evaluation,
              checked: checkResults,
              status: progress.check,
              nowMs,
            }),
          ),
        ]),
  ]
}

function withStageStatus(
  stage: TaskStageRow,
  status: TaskStageRow['status'],
  nowMs: number,
): TaskStageRow {
  return {
    ...stage,
    status,
    statusMs: withStatusTime(stage.statusMs, status, nowMs),
    updatedMs: nowMs,
  }
}

function withCheckResult(
  check: PolicyCheckRow,
  result: {
    readonly checked: readonly PolicySetResultRow[]
    readonly status: PolicyCheckRow['status']
    readonly durationMs: number
    readonly nowMs: number
  },
): PolicyCheckRow {
  const { checked: sets, status, durationMs, nowMs } = result
  const statusMs =
    status === check.status ? check.statusMs : withStatusTime(check.statusMs, status, nowMs)
  return { ...check, status, statusMs, durationMs, sets }
}

/** Returns an evaluation with the outcome of each of its sets. */
function evaluationChanges(
  { ids }: RecordContext,
  evaluation: PolicyEvaluationRow,
  { sets, results, nowMs }: RunEvaluation & { readonly nowMs: number },
): readonly Change[] {
  const ownResults = results.filter((_set, index) => {
    const set = sets[index]
    return set?.usesTaskStage === true && set.kind === evaluation.kind
  })
  const status = policyEvaluationStatus(ownResults)
  const { organizationId, workspaceId, runId, id: evaluationId } = evaluation
  const outcomes = ownResults.map((set, position): PolicySetOutcomeRow => ({
    ...set,
    id: newId(ids, 'policy-set-outcomes'),
    policySetId: set.id,
    organizationId,
    workspaceId,
    runId,
    evaluationId,
    position,
  }))
  const updated: PolicyEvaluationRow = {
    ...evaluation,
    status,
    statusMs: withStatusTime(evaluation.statusMs, status, nowMs),
    toolVersion: ownResults.find(({ toolVersion }) => toolVersion !== null)?.toolVersion ?? null,
    counts: countResults(ownResults),
    updatedMs: nowMs,
  }
  return [
    put('policy_evaluations', updated),
    ...outcomes.map((row) => put('policy_set_outcomes', row)),
  ]
}

/** Returns the changes for a run whose policies could not be evaluated. */
export function erroredRunChanges({ store, clock }: RecordContext, run: RunRow): readonly Change[] {
  const { tables } = store
  const nowMs = clock.nowMs()
  const plan = tables.run_plans.get(run.planId)
  const stage = findTaskStage(tables, run.id)
  const check = findPolicyCheck(tables, run.id)
  return [
    ...saveRunChanges(tables, transitionRun(run, ['errored'], nowMs), nowMs),
    put('run_plans', { ...plan, frozenSets: null }),
    ...unpinCodeChanges(tables, plan.id),
    ...(check === undefined ? [] : [put('policy_checks', markErrored(check, nowMs))]),
    ...(stage === undefined ? [] : erroredStageChanges(tables, stage, nowMs)),
  ]
}

function erroredStageChanges(
  tables: Tables,
  stage: TaskStageRow,
  nowMs: number,
): readonly Change[] {
  return [
    put('task_stages', { ...markErrored(stage, nowMs), updatedMs: nowMs }),
    ...listEvaluations(tables, stage.id).map((one) =>
      put('policy_evaluations', { ...markErrored(one, nowMs), updatedMs: nowMs }),
    ),
  ]
}

function markErrored<R extends { readonly statusMs: RunRow['statusMs'] }>(row: R, nowMs: number) {
  return {
    ...row,
    status: 'errored' as const,
    statusMs: withStatusTime(row.statusMs, 'errored', nowMs),
  }
}

/** Returns the status of a policy check, which the most severe failure decides. */
export function policyCheckStatus(sets: readonly PolicySetResultRow[]): PolicyCheckRow['status'] {
  const { denials } = decideEnforcement(sets, false)
  if (denials.some(({ effect }) => effect === 'final')) return 'hard_failed'
  return denials.length > 0 ? 'soft_failed' : 'passed'
}

/**
 * Counts the results of a check. Errors count as failures at their level. An override ignores the
 * result and does not change it.
 */
export function policyCheckResult(
  sets: readonly PolicySetResultRow[],
  durationMs: number,
): v2.PolicyCheckResult {
  const all = sets.flatMap(({ outcomes, overridable }) =>
    outcomes.map(({ status, enforcement_level: level }) => ({
      hasPassed: status === 'passed',
      weight: enforcementEffect(level, overridable),
    })),
  )
  const failed = all.filter(({ hasPassed }) => !hasPassed)
  const count = (weight: (typeof all)[number]['weight']): number =>
    failed.filter((one) => one.weight === weight).length
  const hardFailed = count('final')
  const softFailed = count('overridable')
  return {
    result: hardFailed === 0 && softFailed === 0,
    passed: all.length - failed.length,
    'total-failed': failed.length,
    'hard-failed': hardFailed,
    'soft-failed': softFailed,
    'advisory-failed': count('warning'),
    'duration-ms': durationMs,
    native: { 'policy-sets': sets.map(toPolicySetVerdict) },
  }
}

/** Returns the outcome of one set in its document form. */
export function toPolicySetVerdict(set: Omit<PolicySetResultRow, 'id'>): v2.PolicySetVerdict {
  return {
    outcomes: set.outcomes,
    error: set.error,
    warnings: set.warnings,
    overridable: set.overridable,
    'policy-set-name': set.name,
    'policy-set-description': set.description,
    'policy-tool-version': set.toolVersion,
    'result-count': countResults([set]),
  }
}

/** Counts each outcome once: an error is not counted as a failure. */
function countResults(sets: readonly Pick<PolicySetResultRow, 'outcomes'>[]): v2.PolicyResultCount {
  const all = sets.flatMap(({ outcomes }) => outcomes)
  const failed = all.filter(({ status }) => status === 'failed')
  const advisory = failed.filter((one) => one.enforcement_level === 'advisory').length
  return {
    'advisory-failed': advisory,
    'mandatory-failed': failed.length - advisory,
    passed: all.filter(({ status }) => status === 'passed').length,
    errored: all.filter(({ status }) => status === 'errored').length,
  }
}

/** Failed if a mandatory policy does not pass, or a set could not be evaluated. */
function policyEvaluationStatus(
  sets: readonly PolicySetResultRow[],
): 'passed' | 'failed' | 'errored' {
  if (!decideEnforcement(sets, false).isAllowed) return 'failed'
  return sets.some(({ error }) => error !== '') ? 'errored' : 'passed'
}

/**
 * Returns the status of a stage. It waits for an override only if every failed set can be
 * overridden.
 */
export function taskStageStatus(
  sets: readonly PolicySetResultRow[],
  canPause: boolean,
): 'passed' | 'failed' | 'awaiting_override' {
  const { denials } = decideEnforcement(sets, false)
  if (denials.length === 0) return 'passed'
  const isOverridable = denials.every(({ effect }) => effect === 'overridable')
  return isOverridable && canPause ? 'awaiting_override' : 'failed'
}

/** Returns the status of all sets of a dry run. */
export function dryRunStatus(sets: readonly PolicySetResultRow[]): 'passed' | 'failed' | 'errored' {
  const { denials } = decideEnforcement(sets, false)
  if (denials.some(({ outcome }) => outcome.status === 'failed')) return 'failed'
  return denials.length > 0 ? 'errored' : 'passed'
}
