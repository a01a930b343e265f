import { err, ok, type Result } from '@reeve/kit/result.ts'
import { NOT_FOUND, type GovernanceRefusal, type TagBindingRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findProject, type VisibleProject } from '../standing.ts'
import { projectTagOwner } from './projects.ts'
import { computeTagChanges, tagProblems, type NewTags } from './tags.ts'

/** Returns the project if the caller may change its tags in this way. */
export function findTaggableProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, isWholeSet }: { readonly projectId: string; readonly isWholeSet: boolean },
): Result<VisibleProject, GovernanceRefusal> {
  const found = findProject(context, caller, projectId)
  if (!found.ok) return found
  const { manageTags, replaceTags } = found.value.rights
  // Permission to add tags does not include permission to remove them.
  return (isWholeSet ? replaceTags : manageTags) ? found : err(NOT_FOUND)
}

/**
 * Adds tag bindings; with `isWholeSet` replaces all. Returns the bindings of the request, in order.
 */
export async function changeProjectTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly projectId: string; readonly tags: NewTags; readonly isWholeSet: boolean },
): Promise<Result<readonly TagBindingRow[], GovernanceRefusal>> {
  const found = findTaggableProject(context, caller, request)
  if (!found.ok) return found
  const { project } = found.value
  const problems = tagProblems(
    context.store.tables,
    { ownerId: project.id },
    { ...request, pointer: '/data' },
  )
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const { requested, changes } = computeTagChanges(context, projectTagOwner(project), request)
  await commitWrite(context, {
    action: 'ProjectTagsChanged',
    caller,
    organizationId: project.organizationId,
    affectedIds: [project.id],
    changes,
  })
  return ok(requested)
}
