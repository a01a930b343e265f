import { v2 } from '@reeve/contract'
import {
  changeProjectTags,
  findProject,
  findTaggableProject,
  projectEffectiveTags,
  tagsOf,
  type GovernanceContext,
} from '../../governance/index.ts'
import { answer, NO_CONTENT, whole } from './documents.ts'
import { tagsRule } from './draft.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import {
  changedTagBindingResource,
  effectiveTagBindingResource,
  tagBindingResource,
} from './resources/tag-binding.ts'

const { v2Routes } = v2

/** Their tag bindings, and their aliases. */
export function projectTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const draftRule = tagsRule('/data')
  const guards = {
    add: { isWholeSet: false },
    replace: { isWholeSet: true },
  }
  return [
    ...[v2Routes.listProjectTagBindings, v2Routes.listProjectTagBindingMembers].map((route) =>
      endpoint(route, ({ caller, params }) =>
        answer(findProject(context, caller, params.project_id), ({ project }) =>
          whole(tagsOf(tables, project.id).map(tagBindingResource)),
        ),
      ),
    ),
    endpoint(v2Routes.listProjectEffectiveTagBindings, ({ caller, params }) =>
      answer(findProject(context, caller, params.project_id), ({ project }) =>
        whole(projectEffectiveTags(tables, project.id).map(effectiveTagBindingResource)),
      ),
    ),
    endpoint(
      v2Routes.updateProjectTagBindings,
      async ({ caller, params, body }) =>
        answer(
          await changeProjectTags(context, caller, {
            ...guards.add,
            projectId: params.project_id,
            tags: body.data,
          }),
          (named) => whole(named.map(changedTagBindingResource)),
        ),
      {
        guard: ({ caller, params }) =>
          findTaggableProject(context, caller, { ...guards.add, projectId: params.project_id }),
        draftRule,
      },
    ),
    ...(['addProjectTagBindings', 'replaceProjectTagBindings'] as const).map((id) => {
      const mode = id === 'addProjectTagBindings' ? guards.add : guards.replace
      return endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          answer(
            await changeProjectTags(context, caller, {
              ...mode,
              projectId: params.project_id,
              tags: body.data,
            }),
            () => NO_CONTENT,
          ),
        {
          guard: ({ caller, params }) =>
            findTaggableProject(context, caller, { ...mode, projectId: params.project_id }),
          draftRule,
        },
      )
    }),
  ]
}
