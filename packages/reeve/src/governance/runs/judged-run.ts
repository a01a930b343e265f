import type {
  PolicySetResultRow,
  PolicyCheckRow,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
  RunPlanRow,
  RunRow,
  TaskStageRow,
} from '../../model/index.ts'
import { put, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { findPolicyCheck, listEvaluations, findTaskStage } from './find-run.ts'
import { saveRunChanges } from './execution/run-rows.ts'
import type { PolicySetSnapshot } from './frozen-sets.ts'
import {
  policyCheckStatus,
  policyEvaluationStatus,
  countResults,
  taskStageStatus,
} from './judged-set.ts'
import { unpinCodeChanges } from './run-end.ts'
import { nextAfterStage, canApply } from './run-progress.ts'
import { transitionRun, withStatusTime } from './run-states.ts'

export interface RunEvaluation {
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
