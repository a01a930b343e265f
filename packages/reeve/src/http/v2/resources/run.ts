import type { v2 } from '@reeve/contract'
import {
  checkOf,
  findShownUser,
  isCancelable,
  isConfirmable,
  isDiscardable,
  stageOf,
  usernameOf,
  type GovernanceContext,
  type SeenRun,
} from '../../../governance/index.ts'
import type { StatusTimes } from '../../../model/index.ts'
import { pathOf, timeText, toMany, toOne } from './links.ts'
import { userResource } from './user.ts'

export function runResource(
  { store }: GovernanceContext,
  { run, plan, rights }: SeenRun,
  callerId: string,
): v2.Run {
  const { tables } = store
  const isWaiting = run.status === 'pending' && plan.bytes === null
  const ids = (row: { readonly id: string } | undefined) => (row === undefined ? [] : [row.id])
  return {
    id: run.id,
    type: 'runs',
    attributes: {
      message: run.message,
      status: run.status,
      'status-timestamps': timesOf(run.statusMs),
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
      'created-at': timeText(run.createdMs),
      actions: {
        'is-cancelable': isCancelable(run.status),
        'is-confirmable': isConfirmable(run.status),
        'is-discardable': isDiscardable(run.status),
      },
      permissions: {
        'can-apply': rights.queueApply,
        'can-cancel': rights.queueApply || (rights.queuePlan && run.createdById === callerId),
        'can-discard': rights.queueApply,
        'can-override-policy-check': rights.overridePolicies,
        'can-upload-plan': rights.queuePlan,
      },
    },
    relationships: {
      workspace: toOne('workspaces', run.workspaceId),
      plan: toOne('plans', run.planId),
      'created-by': toOne('users', run.createdById),
      'policy-checks': toMany('policy-checks', ids(checkOf(tables, run.id))),
      'task-stages': toMany('task-stages', ids(stageOf(tables, run.id))),
    },
    links: {
      self: pathOf('runs', run.id),
      ...(isWaiting ? { 'plan-upload': pathOf('plans', plan.id, 'upload') } : {}),
    },
  }
}

/** Times at which something entered its states. */
export function timesOf(times: StatusTimes): Record<string, string> {
  return Object.fromEntries(
    Object.entries(times).map(([name, ms]): [string, string] => [name, timeText(ms)]),
  )
}

export function planResource({ plan }: Pick<SeenRun, 'plan'>): v2.RunPlan {
  const { counts } = plan
  return {
    id: plan.id,
    type: 'plans',
    attributes: {
      status: plan.status,
      'status-timestamps': timesOf(plan.statusMs),
      'has-changes': plan.hasChanges,
      'resource-additions': counts.additions,
      'resource-changes': counts.changes,
      'resource-destructions': counts.destructions,
      'resource-imports': counts.imports,
    },
    relationships: { run: toOne('runs', plan.runId) },
    links: {
      self: pathOf('plans', plan.id),
      'json-output': pathOf('plans', plan.id, 'json-output'),
      ...(plan.status === 'pending' ? { upload: pathOf('plans', plan.id, 'upload') } : {}),
    },
  }
}

/** Whoever made a run; the site's own administrator is no user, and others may be gone. */
export function creatorResource(context: GovernanceContext, { run }: SeenRun): v2.User {
  const { createdById: id, createdByName: nameThen } = run
  const username = usernameOf(context, { userId: id, nameThen })
  return userResource(findShownUser(context, id) ?? { id, username, isServiceAccount: true })
}
