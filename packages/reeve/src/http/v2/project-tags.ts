import { v2 } from '@reeve/contract'
import {
  changeProjectTags,
  findProject,
  findTaggableProject,
  projectEffectiveTags,
  ownTags,
  type GovernanceContext,
} from '../../governance/index.ts'
import { mapResult, NO_CONTENT, listDocument } from './documents.ts'
import { tagBindingRule } from './draft.ts'
import { endpoint, type V2Endpoint } from './endpoint.ts'
import {
  changedTagBindingResource,
  effectiveTagBindingResource,
  tagBindingResource,
} from './resources/tag-binding.ts'

const { v2Routes } = v2

/** Returns the routes of a project's tag bindings. */
export function projectTagEndpoints(context: GovernanceContext): readonly V2Endpoint[] {
  const { tables } = context.store
  const draftRule = tagBindingRule('/data')
  const modes = {
    add: { isWholeSet: false },
    replace: { isWholeSet: true },
  }
  return [
    ...[v2Routes.listProjectTagBindings, v2Routes.listProjectTagBindingMembers].map((route) =>
      endpoint(route, ({ caller, params }) =>
        mapResult(findProject(context, caller, params.project_id), ({ project }) =>
          listDocument(ownTags(tables, project.id).map(tagBindingResource)),
        ),
      ),
    ),
    endpoint(v2Routes.listProjectEffectiveTagBindings, ({ caller, params }) =>
      mapResult(findProject(context, caller, params.project_id), ({ project }) =>
        listDocument(projectEffectiveTags(tables, project.id).map(effectiveTagBindingResource)),
      ),
    ),
    endpoint(
      v2Routes.updateProjectTagBindings,
      async ({ caller, params, body }) =>
        mapResult(
          await changeProjectTags(context, caller, {
            ...modes.add,
            projectId: params.project_id,
            tags: body.data,
          }),
          (named) => listDocument(named.map(changedTagBindingResource)),
        ),
      {
        authorize: ({ caller, params }) =>
          findTaggableProject(context, caller, { ...modes.add, projectId: params.project_id }),
        crossFieldRule: draftRule,
      },
    ),
    ...(['addProjectTagBindings', 'replaceProjectTagBindings'] as const).map((id) => {
      const mode = id === 'addProjectTagBindings' ? modes.add : modes.replace
      return endpoint(
        v2Routes[id],
        async ({ caller, params, body }) =>
          mapResult(
            await changeProjectTags(context, caller, {
              ...mode,
              projectId: params.project_id,
              tags: body.data,
            }),
            () => NO_CONTENT,
          ),
        {
          authorize: ({ caller, params }) =>
            findTaggableProject(context, caller, { ...mode, projectId: params.project_id }),
          crossFieldRule: draftRule,
        },
      )
    }),
  ]
}
