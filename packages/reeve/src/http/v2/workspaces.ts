import { v2 } from '@reeve/contract'
import {
  createWorkspace,
  deleteWorkspace,
  findWorkspaceToLock,
  findWorkspace,
  findOrganizationForNewWorkspace,
  findWorkspaceWith,
  forceUnlockWorkspace,
  lockWorkspace,
  safeDeleteWorkspace,
  unlockWorkspace,
  updateWorkspace,
  type GovernanceContext,
  type VisibleWorkspace,
  type WorkspaceAddress,
  type WorkspaceWriteResult,
} from '../../governance/index.ts'
import { mapResult, createdDocument, NO_CONTENT, resourceDocument } from './documents.ts'
import { RELATED_TAGS_RULE } from './draft.ts'
import { endpoint, type JsonApiResult, type V2Endpoint, type V2Request } from './endpoint.ts'
import { workspaceResource } from './resources/workspace.ts'
import { workspacesWithIncludes, listWorkspacesEndpoint } from './workspace-list.ts'

const { v2Routes, WORKSPACE_INCLUDES } = v2

/** Returns the routes of workspaces. Each route by ID has an equivalent by name. */
export function workspaceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    listWorkspacesEndpoint(context),
    endpoint(
      v2Routes.createWorkspace,
      async ({ caller, params, body }) =>
        mapResult(
          await createWorkspace(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (written) => createdDocument(...documentParts(context, written)),
        ),
      {
        authorize: ({ caller, params }) =>
          findOrganizationForNewWorkspace(context, caller, params.organization_name),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    ...workspaceItemEndpoints(context),
    ...lockEndpoints(context),
  ]
}

/** Returns a written workspace and notices about changes beyond the request. */
function documentParts(context: GovernanceContext, { visible, notices }: WorkspaceWriteResult) {
  const meta = notices.length === 0 ? {} : { meta: { notices } }
  return [workspaceResource(context, visible), meta] as const
}

function workspaceById(params: { readonly workspace_id: string }): WorkspaceAddress {
  return { workspaceId: params.workspace_id }
}

function workspaceByName(params: {
  readonly organization_name: string
  readonly workspace_name: string
}): WorkspaceAddress {
  return { organizationName: params.organization_name, workspaceName: params.workspace_name }
}

function workspaceItemEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: WORKSPACE_INCLUDES }
  const read = (request: ReadRequest, address: WorkspaceAddress): JsonApiResult =>
    mapResult(findWorkspace(context, request.caller, address), (visible) => {
      const { resources, included: more } = workspacesWithIncludes(context, request, [visible])
      const [resource = workspaceResource(context, visible)] = resources
      return resourceDocument(resource, more === undefined ? {} : { included: more })
    })
  return [
    endpoint(v2Routes.readWorkspace, (one) => read(one, workspaceById(one.params)), included),
    endpoint(
      v2Routes.readNamedWorkspace,
      (one) => read(one, workspaceByName(one.params)),
      included,
    ),
    endpoint(
      v2Routes.updateWorkspace,
      (one) => updateRoute(context, one, workspaceById(one.params)),
      {
        authorize: ({ caller, params }) => findUpdatable(context, caller, workspaceById(params)),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    endpoint(
      v2Routes.updateNamedWorkspace,
      (one) => updateRoute(context, one, workspaceByName(one.params)),
      {
        authorize: ({ caller, params }) => findUpdatable(context, caller, workspaceByName(params)),
        crossFieldRule: RELATED_TAGS_RULE,
      },
    ),
    ...[deleteWorkspace, safeDeleteWorkspace].flatMap((deletion) => {
      const isForce = deletion === deleteWorkspace
      const respond = async (caller: Caller, address: WorkspaceAddress): Promise<JsonApiResult> =>
        mapResult(await deletion(context, caller, address), () => NO_CONTENT)
      return [
        endpoint(
          isForce ? v2Routes.deleteWorkspace : v2Routes.safeDeleteWorkspace,
          ({ caller, params }) => respond(caller, workspaceById(params)),
        ),
        endpoint(
          isForce ? v2Routes.deleteNamedWorkspace : v2Routes.safeDeleteNamedWorkspace,
          ({ caller, params }) => respond(caller, workspaceByName(params)),
        ),
      ]
    }),
  ]
}

type Caller = ReadRequest['caller']
type ReadRequest = Pick<V2Request<typeof v2Routes.readWorkspace>, 'caller' | 'includes'>
type UpdateRequest = Pick<V2Request<typeof v2Routes.updateWorkspace>, 'caller' | 'body'>

async function updateRoute(
  context: GovernanceContext,
  { caller, body }: UpdateRequest,
  address: WorkspaceAddress,
): Promise<JsonApiResult> {
  return mapResult(
    await updateWorkspace(context, caller, { address, data: body.data }),
    (written) => resourceDocument(...documentParts(context, written)),
  )
}

function findUpdatable(context: GovernanceContext, caller: Caller, address: WorkspaceAddress) {
  return findWorkspaceWith(context, caller, { address, right: 'update' })
}

function lockEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const toDocument = (visible: VisibleWorkspace): JsonApiResult =>
    resourceDocument(workspaceResource(context, visible))
  return [
    endpoint(
      v2Routes.lockWorkspace,
      async ({ caller, params, body }) =>
        mapResult(
          await lockWorkspace(context, caller, {
            workspaceId: params.workspace_id,
            reason: body?.reason ?? body?.data?.attributes?.reason ?? null,
          }),
          toDocument,
        ),
      {
        authorize: ({ caller, params }) =>
          findWorkspaceToLock(context, caller, { workspaceId: params.workspace_id, right: 'lock' }),
      },
    ),
    endpoint(v2Routes.unlockWorkspace, async ({ caller, params }) =>
      mapResult(await unlockWorkspace(context, caller, params.workspace_id), toDocument),
    ),
    endpoint(v2Routes.forceUnlockWorkspace, async ({ caller, params }) =>
      mapResult(await forceUnlockWorkspace(context, caller, params.workspace_id), toDocument),
    ),
  ]
}
