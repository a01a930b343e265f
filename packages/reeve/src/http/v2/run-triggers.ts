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
  type SeenRunTrigger,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, paged, single, windowOf } from './documents.ts'
import {
  endpoint,
  type Outcome,
  type Resource,
  type V2Endpoint,
  type V2Request,
} from './endpoint.ts'
import { pathOf, timeText, toOne } from './resources/links.ts'
import { workspaceResource } from './resources/workspace.ts'

const { v2Routes, RUN_TRIGGER_INCLUDES } = v2

export function runTriggerEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const includes = { includes: RUN_TRIGGER_INCLUDES }
  return [
    endpoint(v2Routes.listRunTriggers, (request) => answerList(context, request), includes),
    endpoint(
      v2Routes.createRunTrigger,
      async ({ caller, params, body }) => {
        const sourceId = body.data.relationships.sourceable.data.id
        const ends = { workspaceId: params.workspace_id, sourceId }
        return answer(await createRunTrigger(context, caller, ends), (seen) =>
          created(runTriggerResource(seen)),
        )
      },
      {
        guard: ({ caller, params }) =>
          findWorkspaceWith(context, caller, {
            address: { workspaceId: params.workspace_id },
            right: 'update',
          }),
      },
    ),
    endpoint(
      v2Routes.readRunTrigger,
      ({ caller, params, includes: names }) =>
        answer(
          findRunTrigger(context, caller, { triggerId: params.run_trigger_id, right: 'read' }),
          (seen) =>
            single(runTriggerResource(seen), includedIn(context, caller, { seen: [seen], names })),
        ),
      includes,
    ),
    endpoint(v2Routes.deleteRunTrigger, async ({ caller, params }) =>
      answer(await deleteRunTrigger(context, caller, params.run_trigger_id), () => NO_CONTENT),
    ),
  ]
}

function answerList(
  context: GovernanceContext,
  request: V2Request<typeof v2Routes.listRunTriggers>,
): Outcome {
  const { caller, params, query, page, includes: names } = request
  const found = listRunTriggers(context, caller, {
    workspaceId: params.workspace_id,
    direction: query['filter[run-trigger][type]'] ?? 'inbound',
  })
  return answer(found, (triggers) => {
    const { skip, take } = windowOf(page)
    const seen = triggers.slice(skip, skip + take)
    return paged(request, {
      items: seen.map(runTriggerResource),
      total: triggers.length,
      ...includedIn(context, caller, { seen, names }),
    })
  })
}

interface Inclusion {
  readonly seen: readonly SeenRunTrigger[]
  readonly names: ReadonlySet<string>
}

/** The ends of run triggers that the caller may read. */
function includedIn(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { seen, names }: Inclusion,
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

function runTriggerResource({ trigger, workspace, source }: SeenRunTrigger): v2.RunTrigger {
  return {
    id: trigger.id,
    type: 'run-triggers',
    attributes: {
      'workspace-name': workspace.name,
      'sourceable-name': source.name,
      'created-at': timeText(trigger.createdMs),
      'error-message': trigger.problem,
    },
    relationships: {
      workspace: toOne('workspaces', workspace.id),
      sourceable: toOne('workspaces', source.id),
    },
    links: { self: pathOf('run-triggers', trigger.id) },
  }
}
