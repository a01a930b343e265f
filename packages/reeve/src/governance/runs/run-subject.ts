import type { RunRow, WorkspaceRow } from '../../model/index.ts'
import type { JsonObject } from '../../policy/index.ts'
import { usernameOf } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { workspaceEffectiveTags } from '../projects/tags.ts'

/** Returns the attributes of a run for policies. */
export function runInput(context: Pick<GovernanceContext, 'store'>, run: RunRow): JsonObject {
  return {
    id: run.id,
    created_at: new Date(run.createdMs).toISOString(),
    created_by: usernameOf(context, { userId: run.createdById, fallbackName: run.createdByName }),
    message: run.message ?? '',
    commit_sha: run.commitSha ?? '',
    is_destroy: run.isDestroy,
    refresh: run.refresh,
    refresh_only: run.refreshOnly,
    speculative: run.planOnly,
    target_addrs: run.targetAddresses.length === 0 ? null : run.targetAddresses,
    replace_addrs: run.replaceAddresses.length === 0 ? null : run.replaceAddresses,
    variables: Object.fromEntries(
      // Variables of a run are treated as sensitive.
      run.variableNames.map((name) => [name, { category: 'run', sensitive: true }]),
    ),
    ...workspaceInput(context, context.store.tables.workspaces.get(run.workspaceId)),
  }
}

/** Returns the project, organization and workspace of a run. */
export function workspaceInput(
  { store }: Pick<GovernanceContext, 'store'>,
  workspace: WorkspaceRow,
): JsonObject {
  const { tables } = store
  const project = tables.projects.get(workspace.projectId)
  const organization = tables.organizations.get(workspace.organizationId)
  const tags = workspaceEffectiveTags(tables, workspace)
  return {
    project: { id: project.id, name: project.name },
    organization: { name: organization.name },
    workspace: {
      id: workspace.id,
      name: workspace.name,
      created_at: new Date(workspace.createdMs).toISOString(),
      description: workspace.description,
      execution_mode: workspace.overwritesExecutionMode
        ? workspace.executionMode
        : organization.defaultExecutionMode,
      auto_apply: workspace.autoApply,
      tags: tags.map(({ binding }) => binding.key),
      tag_bindings: tags.map(({ binding, inheritedFrom }) => ({
        key: binding.key,
        value: binding.value === '' ? null : binding.value,
        inherited: inheritedFrom !== undefined,
      })),
      working_directory: workspace.workingDirectory,
      vcs_repo: null,
    },
  }
}
