import type { WorkspaceRow } from '../../src/model/index.ts'

/** The smallest workspace; a test names only what it is about. */
export function aWorkspaceRow(
  fields: Pick<WorkspaceRow, 'id' | 'organizationId' | 'projectId'> & Partial<WorkspaceRow>,
): WorkspaceRow {
  return {
    name: fields.id,
    description: null,
    createdMs: 0,
    updatedMs: 0,
    latestChangeMs: 0,
    lock: null,
    executionMode: 'remote',
    overwritesExecutionMode: false,
    autoApply: false,
    autoDestroyAtMs: null,
    autoDestroyActivityDuration: null,
    autoDestroyStatus: null,
    inheritsProjectAutoDestroy: true,
    source: 'api',
    sourceName: null,
    sourceUrl: null,
    workingDirectory: null,
    toolVersion: null,
    ...fields,
  }
}
