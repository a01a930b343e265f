import { v2 } from '@reeve/contract'
import {
  findPolicyCheck,
  createRun,
  performRunAction,
  findRunForAction,
  findRun,
  forceCancelRun,
  forceExecuteRun,
  isIdle,
  listRuns,
  reportApplyResult,
  findTaskStage,
  type GovernanceContext,
  type RunFilter,
  type VisibleRun,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import type { GovernanceAliases } from '../../compat/index.ts'
import {
  mapResult,
  createdDocument,
  pageDocument,
  resourceDocument,
  listDocument,
  offsetAndLimit,
} from './documents.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { splitList } from './query.ts'
import { waitForRow, type WaitDeps } from './run-phases.ts'
import { configurationVersionResource } from './configuration-versions.ts'
import { policyCheckResource, taskStageResource } from './resources/policy-results.ts'
import {
  applyResource,
  creatorResource,
  planResource,
  runEventResources,
  runResource,
  type LogUrlDeps,
} from './resources/run.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes } = v2
const { RUN_INCLUDES } = v2

export interface RunDeps extends WaitDeps {
  readonly structuredLogHeader: GovernanceAliases['structuredLogHeader']
}

/** Reports whether the client renders structured logs; other clients get plain text. */
function rendersStructuredLogs(
  { structuredLogHeader: expected }: RunDeps,
  headers: V2Request<typeof v2Routes.createRun>['headers'],
): boolean {
  return expected !== undefined && headers[expected.name] === expected.value
}

export function runEndpoints(host: RunDeps): readonly V2Endpoint[] {
  const { context } = host
  const includes = { includes: RUN_INCLUDES }
  return [
    endpoint(v2Routes.createRun, async ({ caller, body, headers }) => {
      const structuredLog = rendersStructuredLogs(host, headers)
      return mapResult(
        await createRun(context, caller, { ...body.data, structuredLog }),
        (visible) => createdDocument(runResource(context, visible, caller.userId)),
      )
    }),
    endpoint(v2Routes.listWorkspaceRuns, (request) => listResponse(context, request), includes),
    endpoint(v2Routes.readRun, (request) => readRunRoute(host, request), includes),
    endpoint(
      v2Routes.reportRun,
      async ({ caller, params, body }) =>
        mapResult(
          await reportApplyResult(context, caller, {
            runId: params.run_id,
            status: body.data.attributes.status,
          }),
          (visible) => resourceDocument(runResource(context, visible, caller.userId)),
        ),
      {
        authorize: ({ caller, params }) =>
          findRun(context, caller, { runId: params.run_id, right: 'queueApply' }),
      },
    ),
    ...decisionEndpoints(context),
    ...forceEndpoints(context),
    endpoint(v2Routes.listRunEvents, ({ caller, params }) =>
      mapResult(findRun(context, caller, { runId: params.run_id, right: 'read' }), (visible) =>
        listDocument(runEventResources(visible)),
      ),
    ),
  ]
}

function forceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const routes = [
    [v2Routes.forceCancelRun, forceCancelRun],
    [v2Routes.forceExecuteRun, forceExecuteRun],
  ] as const
  return routes.map(([route, action]) =>
    endpoint(
      route,
      async ({ caller, params, body }) =>
        mapResult(
          await action(context, caller, { runId: params.run_id, comment: commentOf(body) }),
          () => ok({ kind: 'empty', status: 202 }),
        ),
      {
        authorize: ({ caller, params }) =>
          findRun(context, caller, { runId: params.run_id, right: 'forceUnlock' }),
      },
    ),
  )
}

function commentOf(body: { readonly comment?: string | null } | null): string | null {
  return body?.comment ?? null
}

function decisionEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const routes = [
    ['apply', v2Routes.applyRun],
    ['discard', v2Routes.discardRun],
    ['cancel', v2Routes.cancelRun],
  ] as const
  return routes.map(([action, route]) =>
    endpoint(
      route,
      async ({ caller, params, body }) =>
        mapResult(
          await performRunAction(context, caller, {
            runId: params.run_id,
            action,
            comment: body?.comment ?? null,
          }),
          () => ok({ kind: 'empty', status: 202 }),
        ),
      {
        authorize: ({ caller, params }) =>
          findRunForAction(context, caller, { runId: params.run_id, action }),
      },
    ),
  )
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listWorkspaceRuns>,
): JsonApiResult {
  const { caller, params, page, includes, query } = request
  const workspaceId = params.workspace_id
  const found = listRuns(context, caller, {
    workspaceId,
    filter: runFilter(query),
    ...offsetAndLimit(page),
  })
  return mapResult(found, ({ runs, total }) =>
    pageDocument(request, {
      items: runs.map((visible) => runResource(context, visible, caller.userId)),
      total,
      ...includedResources({ context, origin: request.requestUrl.origin }, runs, includes),
    }),
  )
}

function runFilter(query: V2Request<typeof v2Routes.listWorkspaceRuns>['query']): RunFilter {
  return {
    statuses: uniqueValues(query['filter[status]']),
    operations: uniqueValues(query['filter[operation]']),
    sources: uniqueValues(query['filter[source]']),
    user: query['search[user]'],
    commit: query['search[commit]'],
    text: query['search[basic]'],
  }
}

/** Splits a list of values, without duplicates. */
function uniqueValues(text: string | undefined): readonly string[] | undefined {
  return text === undefined || text === '' ? undefined : [...new Set(splitList(text))]
}

async function readRunRoute(
  host: RunDeps,
  { caller, params, query, includes, tenant, requestUrl }: V2Request<typeof v2Routes.readRun>,
): Promise<JsonApiResult> {
  const { context } = host
  const find = () => findRun(context, caller, { runId: params.run_id, right: 'read' })
  const first = find()
  if (!first.ok) return first
  if (query.wait !== undefined && query.wait > 0)
    await waitUntilIdle(host, first.value, query.wait, tenant)
  // Permissions may have changed during the wait.
  return mapResult(find(), (visible) =>
    resourceDocument(
      runResource(context, visible, caller.userId),
      includedResources({ context, origin: requestUrl.origin }, [visible], includes),
    ),
  )
}

/** Waits until the run has ended or needs an action of a user, or the time is up. */
async function waitUntilIdle(
  host: RunDeps,
  { run }: VisibleRun,
  waitSeconds: number,
  tenant: string,
): Promise<void> {
  const { runs } = host.context.store.tables
  const isDone = (): boolean => {
    const current = runs.find(run.id)
    return current === undefined || isIdle(current.status)
  }
  const seconds = Math.min(waitSeconds, v2.RUN_WAIT_SECONDS_MAX)
  await waitForRow(host, { table: 'runs', key: run.id }, { tenant, seconds, isDone })
}

function includedResources(
  host: LogUrlDeps,
  runs: readonly VisibleRun[],
  includes: ReadonlySet<string>,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const { context } = host
  const { tables } = context.store
  const included = runs.flatMap((seen): Resource[] => {
    const check = findPolicyCheck(tables, seen.run.id)
    const stage = findTaskStage(tables, seen.run.id)
    const { configurationVersionId = '' } = seen.run
    const configuration = tables.configuration_versions.find(configurationVersionId)
    return [
      ...(includes.has('plan') ? [planResource(host, seen)] : []),
      ...(includes.has('apply') ? [applyResource(host, seen) ?? []].flat() : []),
      ...(includes.has('policy_checks') && check !== undefined
        ? [policyCheckResource(context, { ...seen, check })]
        : []),
      ...(includes.has('task_stages') && stage !== undefined
        ? [taskStageResource(context, { ...seen, stage })]
        : []),
      ...(includes.has('created_by') ? [creatorResource(context, seen)] : []),
      ...(includes.has('workspace') ? [workspaceResource(context, seen)] : []),
      ...(includes.has('configuration_version') && configuration !== undefined
        ? [configurationVersionResource(configuration)]
        : []),
    ]
  })
  return { included }
}
