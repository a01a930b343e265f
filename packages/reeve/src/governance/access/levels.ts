import type { v2 } from '@reeve/contract'
import type { TeamProjectRow, TeamWorkspaceRow } from '../../model/index.ts'

/** Custom permissions on the workspaces of a project, from least to most. */
const NO_RUNS = {
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'policy-mocks': 'none',
  'run-tasks': false,
  'policy-overrides': false,
} as const
const READ = { ...NO_RUNS, variables: 'read', 'state-versions': 'read' } as const
const WRITE = {
  ...NO_RUNS,
  runs: 'apply',
  variables: 'write',
  'state-versions': 'write',
  'policy-mocks': 'read',
} as const
const ADMIN = { ...WRITE, 'run-tasks': true } as const

/** Permissions that change which workspaces exist. */
const NO_LIFECYCLE = { create: false, locking: false, delete: false, move: false } as const
const LOCK = { ...NO_LIFECYCLE, locking: true } as const
const CREATE_AND_DELETE = { ...LOCK, create: true, delete: true } as const
const FULL_LIFECYCLE = { ...CREATE_AND_DELETE, move: true } as const

const READ_SETTINGS = { settings: 'read', teams: 'none', 'variable-sets': 'none' } as const
const MANAGE_SETTINGS = { settings: 'delete', teams: 'manage', 'variable-sets': 'write' } as const

/** Values of the project access levels; for `custom` these are the defaults. */
export const PROJECT_LEVELS: {
  readonly [L in v2.ProjectAccessLevel]: Pick<TeamProjectRow, 'projectAccess' | 'workspaceAccess'>
} = {
  read: { projectAccess: READ_SETTINGS, workspaceAccess: { ...READ, ...NO_LIFECYCLE } },
  write: { projectAccess: READ_SETTINGS, workspaceAccess: { ...WRITE, ...LOCK } },
  maintain: { projectAccess: READ_SETTINGS, workspaceAccess: { ...ADMIN, ...CREATE_AND_DELETE } },
  admin: { projectAccess: MANAGE_SETTINGS, workspaceAccess: { ...ADMIN, ...FULL_LIFECYCLE } },
  custom: { projectAccess: READ_SETTINGS, workspaceAccess: { ...NO_RUNS, ...NO_LIFECYCLE } },
}

/** Values of the workspace access levels; for `custom` these are the defaults. */
export const WORKSPACE_LEVELS: {
  readonly [L in v2.WorkspaceAccessLevel]: TeamWorkspaceRow['values']
} = {
  read: { ...READ, 'workspace-locking': false },
  plan: { ...READ, runs: 'plan', 'workspace-locking': false },
  write: { ...WRITE, 'workspace-locking': true },
  admin: { ...ADMIN, 'workspace-locking': true },
  custom: { ...NO_RUNS, 'workspace-locking': false },
}
