import { v2 } from '@reeve/contract'
import {
  checkOf,
  createRun,
  decideRun,
  findDecidable,
  findRun,
  forceCancelRun,
  forceExecuteRun,
  isResting,
  listRuns,
  reportRun,
  stageOf,
  type GovernanceContext,
  type RunFilter,
  type SeenRun,
} from '../../governance/index.ts'
import { ok } from '@reeve/kit/result.ts'
import type { GovernanceAliases } from '../../compat/index.ts'
import { answer, created, paged, single, whole, windowOf } from './documents.ts'
import {
  endpoint,
  type Outcome,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { split } from './query.ts'
import type { WaitHost } from './row-waits.ts'
import { configurationVersionResource } from './resources/configuration-version.ts'
import { policyCheckResource, taskStageResource } from './resources/policy-results.ts'
import {
  applyResource,
  creatorResource,
  planResource,
  runEventResources,
  runResource,
  type LogHost,
} from './resources/run.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes, RUN_INCLUDES } = v2

export interface RunHost extends WaitHost {
  readonly structuredLogHeader: GovernanceAliases['structuredLogHeader']
}

/** Other clients print a log as it is, so it is made of plain text. */
function rendersStructuredLogs(
  { structuredLogHeader: header }: RunHost,
  headers: V2Request<typeof v2Routes.createRun>['headers'],
): boolean {
  return header !== undefined && headers[header.name] === header.value
}

export function runEndpoints(host: RunHost): readonly V2Endpoint[] {
  const { context } = host
  const includes = { includes: RUN_INCLUDES }
  return [
    endpoint(v2Routes.createRun, async ({ caller, body, headers }) => {
      const structuredLog = rendersStructuredLogs(host, headers)
      return answer(await createRun(context, caller, { ...body.data, structuredLog }), (seen) =>
        created(runResource(context, seen, caller.userId)),
      )
    }),
    endpoint(v2Routes.listWorkspaceRuns, (request) => answerList(context, request), includes),
    endpoint(v2Routes.readRun, (request) => read(host, request), includes),
    endpoint(
      v2Routes.reportRun,
      async ({ caller, params, body }) =>
        answer(
          await reportRun(context, caller, {
            runId: params.run_id,
            status: body.data.attributes.status,
          }),
          (seen) => single(runResource(context, seen, caller.userId)),
        ),
      {
        guard: ({ caller, params }) =>
          findRun(context, caller, { runId: params.run_id, right: 'queueApply' }),
      },
    ),
    ...decisionEndpoints(context),
    ...forcedEndpoints(context),
    endpoint(v2Routes.listRunEvents, ({ caller, params }) =>
      answer(findRun(context, caller, { runId: params.run_id, right: 'read' }), (seen) =>
        whole(runEventResources(seen)),
      ),
    ),
  ]
}

function forcedEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const routes = [
    [v2Routes.forceCancelRun, forceCancelRun],
    [v2Routes.forceExecuteRun, forceExecuteRun],
  ] as const
  return routes.map(([route, decide]) =>
    endpoint(
      route,
      async ({ caller, params, body }) =>
        answer(
          await decide(context, caller, { runId: params.run_id, comment: commentIn(body) }),
          () => ok({ kind: 'empty', status: 202 }),
        ),
      {
        guard: ({ caller, params }) =>
          findRun(context, caller, { runId: params.run_id, right: 'forceUnlock' }),
      },
    ),
  )
}

function commentIn(body: { readonly comment?: string | null } | null): string | null {
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
        answer(
          await decideRun(context, caller, {
            runId: params.run_id,
            action,
            comment: body?.comment ?? null,
          }),
          () => ok({ kind: 'empty', status: 202 }),
        ),
      {
        guard: ({ caller, params }) =>
          findDecidable(context, caller, { runId: params.run_id, action }),
      },
    ),
  )
}

function answerList(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listWorkspaceRuns>,
): Outcome {
  const { caller, params, page, includes, query } = request
  const workspaceId = params.workspace_id
  const found = listRuns(context, caller, {
    workspaceId,
    filter: filterOf(query),
    ...windowOf(page),
  })
  return answer(found, ({ runs, total }) =>
    paged(request, {
      items: runs.map((seen) => runResource(context, seen, caller.userId)),
      total,
      ...includedIn({ context, origin: request.address.origin }, runs, includes),
    }),
  )
}

function filterOf(query: V2Request<typeof v2Routes.listWorkspaceRuns>['query']): RunFilter {
  return {
    statuses: valuesOf(query['filter[status]']),
    operations: valuesOf(query['filter[operation]']),
    sources: valuesOf(query['filter[source]']),
    user: query['search[user]'],
    commit: query['search[commit]'],
    text: query['search[basic]'],
  }
}

/** Each value is looked up once, however often the query repeats it. */
function valuesOf(text: string | undefined): readonly string[] | undefined {
  return text === undefined || text === '' ? undefined : [...new Set(split(text))]
}

async function read(
  host: RunHost,
  { caller, params, query, includes, tenant, address }: V2Request<typeof v2Routes.readRun>,
): Promise<Outcome> {
  const { context } = host
  const find = () => findRun(context, caller, { runId: params.run_id, right: 'read' })
  const first = find()
  if (!first.ok) return first
  if (query.wait !== undefined && query.wait > 0)
    await rested(host, first.value, query.wait, tenant)
  // Rights may have changed while it waited.
  return answer(find(), (seen) =>
    single(
      runResource(context, seen, caller.userId),
      includedIn({ context, origin: address.origin }, [seen], includes),
    ),
  )
}

/** Waits until nothing happens to the run by itself, or the time is over. */
async function rested(
  { context, lifecycle, parked }: RunHost,
  { run }: SeenRun,
  seconds: number,
  tenant: string,
): Promise<void> {
  const { runs } = context.store.tables
  const isAtRest = (): boolean => {
    const now = runs.find(run.id)
    return now === undefined || isResting(now.status)
  }
  const hold = lifecycle.hold()
  const wait = `${Math.min(seconds, v2.RUN_WAIT_SECONDS_MAX)}s`
  try {
    await parked.waitForIndex(tenant, { minIndex: 1, wait }, hold, {
      index: () => (isAtRest() ? 2 : 1),
      watch: [{ table: 'runs', key: run.id }],
    })
  } finally {
    lifecycle.release(hold)
  }
}

function includedIn(
  host: LogHost,
  runs: readonly SeenRun[],
  includes: ReadonlySet<string>,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const { context } = host
  const { tables } = context.store
  const included = runs.flatMap((seen): Resource[] => {
    const check = checkOf(tables, seen.run.id)
    const stage = stageOf(tables, seen.run.id)
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
