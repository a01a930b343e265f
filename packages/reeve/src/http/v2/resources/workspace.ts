import type { v2 } from '@reeve/contract'
import {
  driftOf,
  runsOf,
  shownHolder,
  tagsOf,
  workspacePermissions,
  type GovernanceContext,
  type SeenWorkspace,
} from '../../../governance/index.ts'
import { optionalTime, pathOf, related, timeText, toMany, toOne } from './links.ts'

export function workspaceResource(
  context: GovernanceContext,
  seen: SeenWorkspace,
  effectiveTagIds?: readonly string[],
): v2.Workspace {
  return {
    id: seen.workspace.id,
    type: 'workspaces',
    attributes: attributesOf(context, seen),
    relationships: relationshipsOf(context, seen, effectiveTagIds),
    // The path by name, which is more readable.
    links: { self: pathOf('organizations', seen.organization.name, 'workspaces', nameOf(seen)) },
  }
}

function nameOf({ workspace }: SeenWorkspace): string {
  return workspace.name
}

function attributesOf(
  { store }: GovernanceContext,
  { workspace, organization, rights }: SeenWorkspace,
): v2.Workspace['attributes'] {
  const runs = runsOf(store.tables, workspace.id)
  const { overwritesExecutionMode } = workspace
  return {
    name: workspace.name,
    description: workspace.description,
    'created-at': timeText(workspace.createdMs),
    'updated-at': timeText(workspace.updatedMs),
    'latest-change-at': timeText(workspace.latestChangeMs),
    locked: workspace.lock !== null,
    'locked-reason': workspace.lock?.reason ?? null,
    'execution-mode': overwritesExecutionMode
      ? workspace.executionMode
      : organization.defaultExecutionMode,
    'auto-apply': workspace.autoApply,
    'auto-apply-run-trigger': workspace.autoApplyRunTrigger ?? false,
    'auto-destroy-at': optionalTime(workspace.autoDestroyAtMs),
    'auto-destroy-activity-duration': workspace.autoDestroyActivityDuration,
    'auto-destroy-status': workspace.autoDestroyStatus,
    'inherits-project-auto-destroy': workspace.inheritsProjectAutoDestroy,
    'drift-check-interval': workspace.driftCheckInterval ?? null,
    'drift-status': driftStatus(store.tables, workspace),
    'resource-count': runs.resourceCount,
    'policy-check-failures': runs.policyCheckFailures,
    'run-failures': runs.runFailures,
    source: workspace.source,
    'source-name': workspace.sourceName,
    'source-url': workspace.sourceUrl,
    'working-directory': workspace.workingDirectory,
    'tool-version': workspace.toolVersion,
    // Always true for runs that execute here; others have no log.
    'structured-run-output-enabled': true,
    // Tags without a value, for clients that predate values.
    'tag-names': tagsOf(store.tables, workspace.id)
      .filter(({ value }) => value === '')
      .map(({ key }) => key),
    'setting-overwrites': { 'execution-mode': overwritesExecutionMode },
    actions: { 'is-destroyable': workspace.lock === null },
    permissions: workspacePermissions(rights),
  }
}

function driftStatus(
  tables: GovernanceContext['store']['tables'],
  { id, driftCheckedMs }: SeenWorkspace['workspace'],
): v2.Workspace['attributes']['drift-status'] {
  // Lists of workspaces read no runs where there was no check.
  const drift = driftCheckedMs === undefined ? null : driftOf(tables, id)
  if (drift === null) return null
  return drift.hasDrifted ? 'drifted' : 'none'
}

function relationshipsOf(
  context: GovernanceContext,
  seen: SeenWorkspace,
  effectiveTagIds?: readonly string[],
): v2.Workspace['relationships'] {
  const { id } = seen.workspace
  const holder = shownHolder(context, seen)
  const { currentRunId, latestRunId } = runsOf(context.store.tables, id)
  const run = (runId: string | null) => (runId === null ? { data: null } : toOne('runs', runId))
  return {
    organization: toOne('organizations', seen.organization.name),
    project: toOne('projects', seen.project.id),
    'current-run': run(currentRunId),
    'latest-run': run(latestRunId),
    'locked-by': { data: holder === null ? null : { id: holder.byId, type: holder.byType } },
    'tag-bindings': related('workspaces', id, 'tag-bindings'),
    'effective-tag-bindings': {
      ...related('workspaces', id, 'effective-tag-bindings'),
      ...(effectiveTagIds === undefined ? {} : toMany('effective-tag-bindings', effectiveTagIds)),
    },
  }
}
