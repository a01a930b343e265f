import { v2 } from '@reeve/contract'
import {
  changeWorkspaceTags,
  addFlatTags,
  findTaggableWorkspace,
  flatTagsOf,
  removeFlatTags,
  findWorkspace,
  tagsOf,
  workspaceEffectiveTags,
  type GovernanceContext,
} from '../../governance/index.ts'
import { answer, NO_CONTENT, whole } from './documents.ts'
import { tagsRule } from './draft.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import { pathOf } from './resources/links.ts'
import {
  changedTagBindingResource,
  effectiveTagBindingResource,
  flatTagResource,
  tagBindingResource,
} from './resources/tag-binding.ts'

const { v2Routes } = v2

/** The tag bindings of a workspace, its own and those that it inherits. */
export function workspaceTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    ...[v2Routes.listWorkspaceTagBindings, v2Routes.listWorkspaceTagBindingMembers].map((route) =>
      endpoint(route, ({ caller, params }) =>
        answer(findWorkspace(context, caller, idOf(params)), ({ workspace: { id } }) =>
          whole(tagsOf(tables, id).map(tagBindingResource), {
            links: { target: pathOf('workspaces', id) },
          }),
        ),
      ),
    ),
    endpoint(v2Routes.listWorkspaceEffectiveTagBindings, ({ caller, params }) =>
      answer(findWorkspace(context, caller, idOf(params)), ({ workspace }) =>
        whole(workspaceEffectiveTags(tables, workspace).map(effectiveTagBindingResource)),
      ),
    ),
    ...flatTagEndpoints(context),
    ...CHANGES.map(({ id, isWholeSet, isTold }) =>
      endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          answer(
            await changeWorkspaceTags(context, caller, {
              ...idOf(params),
              isWholeSet,
              tags: body.data,
            }),
            (named) => (isTold ? whole(named.map(changedTagBindingResource)) : NO_CONTENT),
          ),
        {
          guard: ({ caller, params }) =>
            findTaggableWorkspace(context, caller, { ...idOf(params), isWholeSet }),
          draftRule: tagsRule('/data'),
        },
      ),
    ),
  ]
}

function flatTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  return [
    endpoint(v2Routes.listWorkspaceTags, ({ caller, params }) =>
      answer(findWorkspace(context, caller, idOf(params)), ({ workspace: { id } }) =>
        whole(flatTagsOf(tables, id).map(flatTagResource)),
      ),
    ),
    endpoint(
      v2Routes.addWorkspaceTags,
      async ({ caller, params, body }) => {
        const names = body.data.map(({ attributes }) => attributes.name)
        return answer(
          await addFlatTags(context, caller, { ...idOf(params), names }),
          () => NO_CONTENT,
        )
      },
      {
        guard: ({ caller, params }) =>
          findTaggableWorkspace(context, caller, { ...idOf(params), isWholeSet: false }),
      },
    ),
    endpoint(
      v2Routes.removeWorkspaceTags,
      async ({ caller, params, body }) => {
        const names = body.data.map(({ attributes }) => attributes.name)
        return answer(
          await removeFlatTags(context, caller, { ...idOf(params), names }),
          () => NO_CONTENT,
        )
      },
      {
        guard: ({ caller, params }) =>
          findTaggableWorkspace(context, caller, { ...idOf(params), isWholeSet: true }),
      },
    ),
  ]
}

const CHANGES = [
  { id: 'updateWorkspaceTagBindings', isWholeSet: false, isTold: true },
  { id: 'addWorkspaceTagBindings', isWholeSet: false, isTold: false },
  { id: 'replaceWorkspaceTagBindings', isWholeSet: true, isTold: false },
] as const

function idOf(params: { readonly workspace_id: string }) {
  return { workspaceId: params.workspace_id }
}
