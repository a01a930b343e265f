import type { v2 } from '@reeve/contract'
import {
  latestDrift,
  remoteStateSharing,
  summarizeRuns,
  visibleLockHolder,
  ownTags,
  workspacePermissions,
  type GovernanceContext,
  type VisibleWorkspace,
} from '../../../governance/index.ts'
import {
  formatOptionalTime,
  resourcePath,
  relatedLink,
  formatTime,
  toMany,
  toOne,
} from './links.ts'

export function workspaceResource(
  context: GovernanceContext,
  visible: VisibleWorkspace,
  effectiveTagIds?: readonly string[],
): v2.Workspace {
  return {
    id: visible.workspace.id,
    type: 'workspaces',
    attributes: workspaceAttributes(context, visible),
    relationships: workspaceRelationships(context, visible, effectiveTagIds),
    // The path by name, which is more readable.
    links: workspaceLinks(visible),
  }
}

function workspaceLinks(visible: VisibleWorkspace): v2.Workspace['links'] {
  const parts = ['organizations', visible.organization.name, 'workspaces', workspaceName(visible)]
  const page = ['', 'ui', ...parts.map(encodeURIComponent)].join('/')
  return { self: resourcePath(...parts), 'self-html': page }
}

function workspaceName({ workspace }: VisibleWorkspace): string {
  return workspace.name
}

function workspaceAttributes(
  { store }: GovernanceContext,
  { workspace, organization, rights }: VisibleWorkspace,
): v2.Workspace['attributes'] {
  const runs = summarizeRuns(store.tables, workspace.id)
  const { overwritesExecutionMode } = workspace
  return {
    name: workspace.name,
    description: workspace.description,
    'created-at': formatTime(workspace.createdMs),
    'updated-at': formatTime(workspace.updatedMs),
    'latest-change-at': formatTime(workspace.latestChangeMs),
    locked: workspace.lock !== null,
    'locked-reason': workspace.lock?.reason ?? null,
    'execution-mode': overwritesExecutionMode
      ? workspace.executionMode
      : organization.defaultExecutionMode,
    'auto-apply': workspace.autoApply,
    'auto-apply-run-trigger': workspace.autoApplyRunTrigger ?? false,
    'auto-destroy-at': formatOptionalTime(workspace.autoDestroyAtMs),
    'auto-destroy-activity-duration': workspace.autoDestroyActivityDuration,
    'auto-destroy-status': workspace.autoDestroyStatus,
    'inherits-project-auto-destroy': workspace.inheritsProjectAutoDestroy,
    'drift-check-interval': workspace.driftCheckInterval ?? null,
    'drift-status': driftStatus(store.tables, workspace),
    'global-remote-state': remoteStateSharing(workspace).global,
    'project-remote-state': remoteStateSharing(workspace).project,
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
    'tag-names': ownTags(store.tables, workspace.id)
      .filter(({ value }) => value === '')
      .map(({ key }) => key),
    'setting-overwrites': { 'execution-mode': overwritesExecutionMode },
    actions: { 'is-destroyable': workspace.lock === null },
    permissions: workspacePermissions(rights),
  }
}

function driftStatus(
  tables: GovernanceContext['store']['tables'],
  { id, driftCheckedMs }: VisibleWorkspace['workspace'],
): v2.Workspace['attributes']['drift-status'] {
  // Without a drift check no runs are read, which keeps lists of workspaces fast.
  const drift = driftCheckedMs === undefined ? null : latestDrift(tables, id)
  if (drift === null) return null
  return drift.hasDrifted ? 'drifted' : 'none'
}

function workspaceRelationships(
  context: GovernanceContext,
  visible: VisibleWorkspace,
  effectiveTagIds?: readonly string[],
): v2.Workspace['relationships'] {
  const { id } = visible.workspace
  const holder = visibleLockHolder(context, visible)
  const { currentRunId, latestRunId } = summarizeRuns(context.store.tables, id)
  const run = (runId: string | null) => (runId === null ? { data: null } : toOne('runs', runId))
  return {
    organization: toOne('organizations', visible.organization.name),
    project: toOne('projects', visible.project.id),
    'current-run': run(currentRunId),
    'latest-run': run(latestRunId),
    'locked-by': { data: holder === null ? null : { id: holder.byId, type: holder.byType } },
    'tag-bindings': relatedLink('workspaces', id, 'tag-bindings'),
    'effective-tag-bindings': {
      ...relatedLink('workspaces', id, 'effective-tag-bindings'),
      ...(effectiveTagIds === undefined ? {} : toMany('effective-tag-bindings', effectiveTagIds)),
    },
    'remote-state-consumers': relatedLink(
      'workspaces',
      id,
      'relationships',
      'remote-state-consumers',
    ),
  }
}
