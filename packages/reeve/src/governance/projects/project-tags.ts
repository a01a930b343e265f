import { err, ok, type Result } from '@reeve/kit/result.ts'
import { UNSEEN, type GovernanceRefusal, type TagBindingRow } from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findProject, type SeenProject } from '../standing.ts'
import { tagOwner } from './projects.ts'
import { planTags, tagProblems, type NewTags } from './tags.ts'

/** Returns the project if the caller may change its tags in this way. */
export function findTaggableProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, isWholeSet }: { readonly projectId: string; readonly isWholeSet: boolean },
): Result<SeenProject, GovernanceRefusal> {
  const seen = findProject(context, caller, projectId)
  if (!seen.ok) return seen
  const { manageTags, replaceTags } = seen.value.rights
  // Permission to add tags does not include permission to remove them.
  return (isWholeSet ? replaceTags : manageTags) ? seen : err(UNSEEN)
}

/**
 * Adds tag bindings; with `isWholeSet` replaces all. Returns the bindings of the request, in order.
 */
export async function changeProjectTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly projectId: string; readonly tags: NewTags; readonly isWholeSet: boolean },
): Promise<Result<readonly TagBindingRow[], GovernanceRefusal>> {
  const seen = findTaggableProject(context, caller, request)
  if (!seen.ok) return seen
  const { project } = seen.value
  const problems = tagProblems(
    context.store.tables,
    { ownerId: project.id },
    { ...request, pointer: '/data' },
  )
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const { named, changes } = planTags(context, tagOwner(project), request)
  await commitWrite(context, {
    action: 'ProjectTagsChanged',
    caller,
    organizationId: project.organizationId,
    subjects: [project.id],
    changes,
  })
  return ok(named)
}
