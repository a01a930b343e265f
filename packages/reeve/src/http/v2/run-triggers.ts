import { v2 } from '@reeve/contract'
import {
  createRunTrigger,
  deleteRunTrigger,
  findRunTrigger,
  findWorkspace,
  findWorkspaceWith,
  listRunTriggers,
  type GovernanceCaller,
  type GovernanceContext,
  type VisibleRunTrigger,
  queueCounts,
  findRun,
  findOrganization,
  queuedRuns,
} from '../../governance/index.ts'
import {
  mapResult,
  createdDocument,
  NO_CONTENT,
  pageDocument,
  resourceDocument,
  offsetAndLimit,
} from './documents.ts'
import {
  endpoint,
  type JsonApiResult,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { resourcePath, formatTime, toOne } from './resources/links.ts'
import { runResource } from './resources/run.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes } = v2
const { RUN_TRIGGER_INCLUDES } = v2

export function runTriggerEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const includes = { includes: RUN_TRIGGER_INCLUDES }
  return [
    endpoint(v2Routes.listRunTriggers, (request) => listResponse(context, request), includes),
    endpoint(
      v2Routes.createRunTrigger,
      async ({ caller, params, body }) => {
        const sourceId = body.data.relationships.sourceable.data.id
        const ends = { workspaceId: params.workspace_id, sourceId }
        return mapResult(await createRunTrigger(context, caller, ends), (visible) =>
          createdDocument(runTriggerResource(visible)),
        )
      },
      {
        authorize: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'update',
          }),
      },
    ),
    endpoint(
      v2Routes.readRunTrigger,
      ({ caller, params, includes: names }) =>
        mapResult(
          findRunTrigger(context, caller, { triggerId: params.run_trigger_id, right: 'read' }),
          (visible) =>
            resourceDocument(
              runTriggerResource(visible),
              includedWorkspaces(context, caller, { seen: [visible], names }),
            ),
        ),
      includes,
    ),
    endpoint(v2Routes.deleteRunTrigger, async ({ caller, params }) =>
      mapResult(await deleteRunTrigger(context, caller, params.run_trigger_id), () => NO_CONTENT),
    ),
  ]
}

function listResponse(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listRunTriggers>,
): JsonApiResult {
  const { caller, params, query, page, includes: names } = request
  const found = listRunTriggers(context, caller, {
    workspaceId: params.workspace_id,
    direction: query['filter[run-trigger][type]'] ?? 'inbound',
  })
  return mapResult(found, (triggers) => {
    const { offset, limit } = offsetAndLimit(page)
    const visible = triggers.slice(offset, offset + limit)
    return pageDocument(request, {
      items: visible.map(runTriggerResource),
      total: triggers.length,
      ...includedWorkspaces(context, caller, { seen: visible, names }),
    })
  })
}

interface IncludeInput {
  readonly seen: readonly VisibleRunTrigger[]
  readonly names: ReadonlySet<string>
}

/** Returns the workspaces of run triggers that the caller may read. */
function includedWorkspaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, names }: IncludeInput,
): { readonly included?: readonly Resource[] } {
  if (names.size === 0) return {}
  const ids = seen.flatMap(({ workspace, source }) => [
    ...(names.has('workspace') ? [workspace.id] : []),
    ...(names.has('sourceable') ? [source.id] : []),
  ])
  const included = [...new Set(ids)].flatMap((workspaceId) => {
    const found = findWorkspace(context, caller, { workspaceId })
    return found.ok ? [workspaceResource(context, found.value)] : []
  })
  return { included }
}

function runTriggerResource({ trigger, workspace, source }: VisibleRunTrigger): v2.RunTrigger {
  return {
    id: trigger.id,
    type: 'run-triggers',
    attributes: {
      'workspace-name': workspace.name,
      'sourceable-name': source.name,
      'created-at': formatTime(trigger.createdMs),
      'error-message': trigger.problem,
    },
    relationships: {
      workspace: toOne('workspaces', workspace.id),
      sourceable: toOne('workspaces', source.id),
    },
    links: { self: resourcePath('run-triggers', trigger.id) },
  }
}

/** Returns the routes of an organization's run queue. */
export function runQueueEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listQueuedRuns, (request) => {
      const { caller, params, page } = request
      return mapResult(
        findOrganization(context, caller, params.organization_name),
        ({ organization }) => {
          const visible = queuedRuns(tables, organization.id).flatMap(({ id }) => {
            const found = findRun(context, caller, { runId: id, right: 'read' })
            return found.ok ? [found.value] : []
          })
          const { offset, limit } = offsetAndLimit(page)
          const items = visible
            .slice(offset, offset + limit)
            .map((run) => runResource(context, run, caller.userId))
          return pageDocument(request, { items, total: visible.length })
        },
      )
    }),
    endpoint(v2Routes.readOrganizationCapacity, ({ caller, params }) =>
      mapResult(findOrganization(context, caller, params.organization_name), ({ organization }) =>
        resourceDocument({
          id: organization.name,
          type: 'organization-capacity',
          attributes: queueCounts(tables, organization.id),
        }),
      ),
    ),
  ]
}
