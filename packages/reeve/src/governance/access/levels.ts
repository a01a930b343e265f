import type { v2 } from '@reeve/contract'
import type { TeamProjectRow, TeamWorkspaceRow } from '../../model/index.ts'

/** Custom permissions on the workspaces of a project, from least to most. */
const customs = {
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'policy-mocks': 'none',
  'run-tasks': false,
  'policy-overrides': false,
} as const
const reads = { ...customs, variables: 'read', 'state-versions': 'read' } as const
const writes = {
  ...customs,
  runs: 'apply',
  variables: 'write',
  'state-versions': 'write',
  'policy-mocks': 'read',
} as const
const administers = { ...writes, 'run-tasks': true } as const

/** Permissions that change which workspaces exist. */
const keeps = { create: false, locking: false, delete: false, move: false } as const
const locks = { ...keeps, locking: true } as const
const maintains = { ...locks, create: true, delete: true } as const
const moves = { ...maintains, move: true } as const

const visits = { settings: 'read', teams: 'none', 'variable-sets': 'none' } as const
const owns = { settings: 'delete', teams: 'manage', 'variable-sets': 'write' } as const

/** Values of the project access levels; for `custom` these are the defaults. */
export const PROJECT_LEVELS: {
  readonly [L in v2.ProjectAccessLevel]: Pick<TeamProjectRow, 'projectAccess' | 'workspaceAccess'>
} = {
  read: { projectAccess: visits, workspaceAccess: { ...reads, ...keeps } },
  write: { projectAccess: visits, workspaceAccess: { ...writes, ...locks } },
  maintain: { projectAccess: visits, workspaceAccess: { ...administers, ...maintains } },
  admin: { projectAccess: owns, workspaceAccess: { ...administers, ...moves } },
  custom: { projectAccess: visits, workspaceAccess: { ...customs, ...keeps } },
}

/** Values of the workspace access levels; for `custom` these are the defaults. */
export const WORKSPACE_LEVELS: {
  readonly [L in v2.WorkspaceAccessLevel]: TeamWorkspaceRow['values']
} = {
  read: { ...reads, 'workspace-locking': false },
  plan: { ...reads, runs: 'plan', 'workspace-locking': false },
  write: { ...writes, 'workspace-locking': true },
  admin: { ...administers, 'workspace-locking': true },
  custom: { ...customs, 'workspace-locking': false },
}
