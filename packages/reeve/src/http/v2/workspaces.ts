import { v2 } from '@reeve/contract'
import {
  createWorkspace,
  deleteWorkspace,
  findLockable,
  findWorkspace,
  findWorkspaceMaker,
  findWorkspaceWith,
  forceUnlockWorkspace,
  lockWorkspace,
  safeDeleteWorkspace,
  unlockWorkspace,
  updateWorkspace,
  type GovernanceContext,
  type SeenWorkspace,
  type WorkspaceAddress,
  type WrittenWorkspace,
} from '../../governance/index.ts'
import { answer, created, NO_CONTENT, single } from './documents.ts'
import { RELATED_TAGS_RULE } from './draft.ts'
import { endpoint, type Outcome, type V2Endpoint, type V2Request } from './endpoint.ts'
import { workspaceResource } from './resources/workspace.ts'
import { includedWorkspaces, workspaceList } from './workspace-list.ts'

const { v2Routes, WORKSPACE_INCLUDES } = v2

/** Each path by id has a twin by name that does the same. */
export function workspaceEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  return [
    workspaceList(context),
    endpoint(
      v2Routes.createWorkspace,
      async ({ caller, params, body }) =>
        answer(
          await createWorkspace(context, caller, {
            organizationName: params.organization_name,
            data: body.data,
          }),
          (written) => created(...writtenParts(context, written)),
        ),
      {
        guard: ({ caller, params }) =>
          findWorkspaceMaker(context, caller, params.organization_name),
        draftRule: RELATED_TAGS_RULE,
      },
    ),
    ...twins(context),
    ...lockEndpoints(context),
  ]
}

/** The document of a workspace that was written, with what was done beyond what was asked. */
function writtenParts(context: GovernanceContext, { seen, notices }: WrittenWorkspace) {
  const meta = notices.length === 0 ? {} : { meta: { notices } }
  return [workspaceResource(context, seen), meta] as const
}

function byId(params: { readonly workspace_id: string }): WorkspaceAddress {
  return { workspaceId: params.workspace_id }
}

function byName(params: {
  readonly organization_name: string
  readonly workspace_name: string
}): WorkspaceAddress {
  return { organizationName: params.organization_name, workspaceName: params.workspace_name }
}

function twins(context: GovernanceContext): readonly V2Endpoint[] {
  const included = { includes: WORKSPACE_INCLUDES }
  const read = (request: ReadRequest, address: WorkspaceAddress): Outcome =>
    answer(findWorkspace(context, request.caller, address), (seen) => {
      const { resources, included: more } = includedWorkspaces(context, request, [seen])
      const [resource = workspaceResource(context, seen)] = resources
      return single(resource, more === undefined ? {} : { included: more })
    })
  return [
    endpoint(v2Routes.readWorkspace, (one) => read(one, byId(one.params)), included),
    endpoint(v2Routes.readNamedWorkspace, (one) => read(one, byName(one.params)), included),
    endpoint(v2Routes.updateWorkspace, (one) => update(context, one, byId(one.params)), {
      guard: ({ caller, params }) => findUpdatable(context, caller, byId(params)),
      draftRule: RELATED_TAGS_RULE,
    }),
    endpoint(v2Routes.updateNamedWorkspace, (one) => update(context, one, byName(one.params)), {
      guard: ({ caller, params }) => findUpdatable(context, caller, byName(params)),
      draftRule: RELATED_TAGS_RULE,
    }),
    ...[deleteWorkspace, safeDeleteWorkspace].flatMap((end) => {
      const isForce = end === deleteWorkspace
      const done = async (caller: Caller, address: WorkspaceAddress): Promise<Outcome> =>
        answer(await end(context, caller, address), () => NO_CONTENT)
      return [
        endpoint(
          isForce ? v2Routes.deleteWorkspace : v2Routes.safeDeleteWorkspace,
          ({ caller, params }) => done(caller, byId(params)),
        ),
        endpoint(
          isForce ? v2Routes.deleteNamedWorkspace : v2Routes.safeDeleteNamedWorkspace,
          ({ caller, params }) => done(caller, byName(params)),
        ),
      ]
    }),
  ]
}

type Caller = ReadRequest['caller']
type ReadRequest = Pick<V2Request<typeof v2Routes.readWorkspace>, 'caller' | 'includes'>
type UpdateRequest = Pick<V2Request<typeof v2Routes.updateWorkspace>, 'caller' | 'body'>

async function update(
  context: GovernanceContext,
  { caller, body }: UpdateRequest,
  address: WorkspaceAddress,
): Promise<Outcome> {
  return answer(await updateWorkspace(context, caller, { address, data: body.data }), (written) =>
    single(...writtenParts(context, written)),
  )
}

function findUpdatable(context: GovernanceContext, caller: Caller, address: WorkspaceAddress) {
  return findWorkspaceWith(context, caller, { address, right: 'update' })
}

function lockEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const shown = (seen: SeenWorkspace): Outcome => single(workspaceResource(context, seen))
  return [
    endpoint(
      v2Routes.lockWorkspace,
      async ({ caller, params, body }) =>
        answer(
          await lockWorkspace(context, caller, {
            workspaceId: params.workspace_id,
            reason: body?.reason ?? body?.data?.attributes?.reason ?? null,
          }),
          shown,
        ),
      {
        guard: ({ caller, params }) =>
          findLockable(context, caller, { workspaceId: params.workspace_id, right: 'lock' }),
      },
    ),
    endpoint(v2Routes.unlockWorkspace, async ({ caller, params }) =>
      answer(await unlockWorkspace(context, caller, params.workspace_id), shown),
    ),
    endpoint(v2Routes.forceUnlockWorkspace, async ({ caller, params }) =>
      answer(await forceUnlockWorkspace(context, caller, params.workspace_id), shown),
    ),
  ]
}
