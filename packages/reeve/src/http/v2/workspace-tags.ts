import { v2 } from '@reeve/contract'
import {
  changeWorkspaceTags,
  addFlatTags,
  findTaggableWorkspace,
  listFlatTags,
  removeFlatTags,
  findWorkspace,
  ownTags,
  workspaceEffectiveTags,
  type GovernanceContext,
} from '../../governance/index.ts'
import { mapResult, NO_CONTENT, listDocument } from './documents.ts'
import { tagBindingRule } from './draft.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { resourcePath } from './resources/links.ts'
import {
  changedTagBindingResource,
  effectiveTagBindingResource,
  flatTagResource,
  tagBindingResource,
} from './resources/tag-binding.ts'

const { v2Routes } = v2

/** Returns the routes of a workspace's tag bindings, both its own and inherited ones. */
export function workspaceTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    ...[v2Routes.listWorkspaceTagBindings, v2Routes.listWorkspaceTagBindingMembers].map((route) =>
      endpoint(route, ({ caller, params }) =>
        mapResult(findWorkspace(context, caller, workspaceRef(params)), ({ workspace: { id } }) =>
          listDocument(ownTags(tables, id).map(tagBindingResource), {
            links: { target: resourcePath('workspaces', id) },
          }),
        ),
      ),
    ),
    endpoint(v2Routes.listWorkspaceEffectiveTagBindings, ({ caller, params }) =>
      mapResult(findWorkspace(context, caller, workspaceRef(params)), ({ workspace }) =>
        listDocument(workspaceEffectiveTags(tables, workspace).map(effectiveTagBindingResource)),
      ),
    ),
    ...flatTagEndpoints(context),
    ...CHANGE_ROUTES.map(({ id, isWholeSet, isTold }) =>
      endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          mapResult(
            await changeWorkspaceTags(context, caller, {
              ...workspaceRef(params),
              isWholeSet,
              tags: body.data,
            }),
            (named) => (isTold ? listDocument(named.map(changedTagBindingResource)) : NO_CONTENT),
          ),
        {
          authorize: ({ caller, params }) =>
            findTaggableWorkspace(context, caller, { ...workspaceRef(params), isWholeSet }),
          crossFieldRule: tagBindingRule('/data'),
        },
      ),
    ),
  ]
}

function flatTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listWorkspaceTags, ({ caller, params }) =>
      mapResult(findWorkspace(context, caller, workspaceRef(params)), ({ workspace: { id } }) =>
        listDocument(listFlatTags(tables, id).map(flatTagResource)),
      ),
    ),
    endpoint(
      v2Routes.addWorkspaceTags,
      async ({ caller, params, body }) => {
        const names = body.data.map(({ attributes }) => attributes.name)
        return mapResult(
          await addFlatTags(context, caller, { ...workspaceRef(params), names }),
          () => NO_CONTENT,
        )
      },
      {
        authorize: ({ caller, params }) =>
          findTaggableWorkspace(context, caller, { ...workspaceRef(params), isWholeSet: false }),
      },
    ),
    endpoint(
      v2Routes.removeWorkspaceTags,
      async ({ caller, params, body }) => {
        const names = body.data.map(({ attributes }) => attributes.name)
        return mapResult(
          await removeFlatTags(context, caller, { ...workspaceRef(params), names }),
          () => NO_CONTENT,
        )
      },
      {
        authorize: ({ caller, params }) =>
          findTaggableWorkspace(context, caller, { ...workspaceRef(params), isWholeSet: true }),
      },
    ),
  ]
}

const CHANGE_ROUTES = [
  { id: 'updateWorkspaceTagBindings', isWholeSet: false, isTold: true },
  { id: 'addWorkspaceTagBindings', isWholeSet: false, isTold: false },
  { id: 'replaceWorkspaceTagBindings', isWholeSet: true, isTold: false },
] as const

function workspaceRef(params: { readonly workspace_id: string }) {
  return { workspaceId: params.workspace_id }
}
