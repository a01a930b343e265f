import type { GovernanceRecord } from '@reeve/contract'
import type {
  PolicySetResultRow,
  PolicyCheckRow,
  PolicyEvaluationRow,
  PolicySetOutcomeRow,
  RunRow,
  StatusTimes,
} from './run-rows.ts'

/**
 * Converts a row to an event record with attribute names of the API. Such rows contain no secrets
 * and no values computed for a caller.
 */
export function governanceRecord(
  type: string,
  { id, ...rest }: { readonly id: string },
): GovernanceRecord {
  const attributes = Object.entries(rest).map(([name, value]) => attributeOf(name, value))
  return { id, type, attributes: Object.fromEntries(attributes) }
}

const TIME_SUFFIX = /(?:At)?Ms$/

/** Converts `createdMs` to `created-at` with an ISO time. */
function attributeOf(name: string, value: unknown): [string, unknown] {
  if (!TIME_SUFFIX.test(name))
    return [toKebabCase(name), isPlainObject(value) ? withHyphenatedKeys(value) : value]
  const time = typeof value === 'number' ? new Date(value).toISOString() : null
  return [toKebabCase(name.replace(TIME_SUFFIX, 'At')), time]
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Converts the keys of a nested object, such as a lock. Rows have only one level of nesting. */
function withHyphenatedKeys(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] => [toKebabCase(name), part]),
  )
}

function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

/**
 * Returns a run as an event payload, with the attribute names of its document. Runs and policy
 * results are published as events; secrets were removed before the rows were stored.
 */
export function runRecord(run: RunRow): GovernanceRecord {
  return {
    id: run.id,
    type: 'runs',
    attributes: {
      'organization-id': run.organizationId,
      'workspace-id': run.workspaceId,
      'plan-id': run.planId,
      'created-by-id': run.createdById,
      message: run.message,
      status: run.status,
      'status-timestamps': isoTimes(run.statusMs),
      source: run.source,
      'commit-sha': run.commitSha,
      'is-destroy': run.isDestroy,
      refresh: run.refresh,
      'refresh-only': run.refreshOnly,
      'plan-only': run.planOnly,
      'auto-apply': run.autoApply,
      'allow-empty-apply': run.allowEmptyApply,
      'has-changes': run.hasChanges,
      'target-addrs': run.targetAddresses,
      'replace-addrs': run.replaceAddresses,
      variables: run.variableNames.map((key) => ({ key })),
      'created-at': isoTime(run.createdMs),
    },
  }
}

/** States of a check before it has a result. */
const STATUSES_WITHOUT_RESULT: ReadonlySet<string> = new Set(['pending', 'unreachable', 'canceled'])

export function policyCheckRecord(check: PolicyCheckRow): GovernanceRecord {
  const sets = STATUSES_WITHOUT_RESULT.has(check.status) ? null : check.sets
  const { override } = check
  return {
    id: check.id,
    type: 'policy-checks',
    attributes: {
      ...runReference(check),
      status: check.status,
      'status-timestamps': isoTimes(check.statusMs),
      'duration-ms': check.durationMs,
      'policy-sets': sets?.map(policySetResult) ?? null,
      override:
        override === null
          ? null
          : {
              'user-id': override.byId,
              'overridden-at': isoTime(override.atMs),
              comment: override.comment,
            },
    },
  }
}

export function policyEvaluationRecord(evaluation: PolicyEvaluationRow): GovernanceRecord {
  return {
    id: evaluation.id,
    type: 'policy-evaluations',
    attributes: {
      ...runReference(evaluation),
      'task-stage-id': evaluation.stageId,
      status: evaluation.status,
      'status-timestamps': isoTimes(evaluation.statusMs),
      'policy-kind': evaluation.kind,
      'policy-tool-version': evaluation.toolVersion,
      'result-count': evaluation.counts,
      'created-at': isoTime(evaluation.createdMs),
      'updated-at': isoTime(evaluation.updatedMs),
    },
  }
}

export function policySetOutcomeRecord(outcome: PolicySetOutcomeRow): GovernanceRecord {
  return {
    id: outcome.id,
    type: 'policy-set-outcomes',
    attributes: {
      ...runReference(outcome),
      'policy-evaluation-id': outcome.evaluationId,
      'policy-set-id': outcome.policySetId,
      ...policySetResult(outcome),
    },
  }
}

interface RunReference {
  readonly organizationId: string
  readonly workspaceId: string
  readonly runId: string
}

function runReference({ organizationId, workspaceId, runId }: RunReference) {
  return { 'organization-id': organizationId, 'workspace-id': workspaceId, 'run-id': runId }
}

function policySetResult(set: Omit<PolicySetResultRow, 'id'>) {
  return {
    outcomes: set.outcomes,
    error: set.error,
    warnings: set.warnings,
    overridable: set.overridable,
    'policy-set-name': set.name,
    'policy-set-description': set.description,
    'policy-tool-version': set.toolVersion,
  }
}

function isoTimes(times: StatusTimes): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(times).map(([name, ms]): [string, string] => [name, isoTime(ms)]),
  )
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
