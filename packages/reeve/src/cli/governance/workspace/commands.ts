import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'
import { TAG_FLAG } from '../tags.ts'
import { SET_FLAGS, UNSET_FLAGS } from '../variable-flags.ts'

const WORKSPACE: ArgumentSpec = { usage: '<WORKSPACE>', help: 'the name or ID of a workspace' }

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description' },
  { usage: '--project <PROJECT>', help: 'the project of the workspace' },
  { usage: '--auto-apply', help: 'apply runs without confirmation if all policies pass' },
  { usage: '--no-auto-apply', help: 'require confirmation' },
  {
    usage: '--auto-destroy <DURATION>',
    help: 'auto-destroy after this time of inactivity, such as 14d; "" disables it',
  },
  { usage: '--inherit-auto-destroy', help: 'inherit the auto-destroy setting of the project' },
  { usage: '--no-inherit-auto-destroy', help: 'do not inherit the auto-destroy setting' },
  {
    usage: '--check-drift <DURATION>',
    help: 'plan this often what has changed outside of runs, such as 24h; "" disables it',
  },
  TAG_FLAG,
  ORGANIZATION_FLAG,
]

export const workspaceCommands: readonly CommandSpec[] = [
  {
    path: 'workspace list',
    summary: 'List workspaces.',
    examples: [
      { line: 'reeve workspace list', says: 'all of the organization' },
      { line: 'reeve workspace list --project payments', says: 'of one project' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only names that contain this text' },
      { usage: '--project <PROJECT>', help: 'only those in this project' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceList,
  },
  {
    path: 'workspace show',
    summary: 'Show a workspace with its tags, lock and latest run.',
    examples: [{ line: 'reeve workspace show api', says: 'by its name' }],
    args: [WORKSPACE],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceShow,
  },
  {
    path: 'workspace create',
    summary: 'Create a workspace.',
    examples: [{ line: 'reeve workspace create api --project payments', says: 'in a project' }],
    args: [{ usage: '<NAME>', help: 'name' }],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceCreate,
  },
  {
    path: 'workspace update',
    summary: 'Update a workspace. Tags replace all existing tags.',
    examples: [
      { line: 'reeve workspace update api --auto-apply', says: 'apply runs automatically' },
    ],
    args: [WORKSPACE],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceUpdate,
  },
  {
    path: 'workspace delete',
    summary: 'Delete a workspace.',
    examples: [
      { line: 'reeve workspace delete api', says: 'asks for confirmation' },
      { line: 'reeve workspace delete api --safe', says: 'only if it manages no resources' },
    ],
    args: [WORKSPACE],
    flags: [
      { usage: '--safe', help: 'refuse while it manages resources' },
      { usage: '-y, --yes', help: 'skip the confirmation' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('./change.ts')).runWorkspaceDelete,
  },
  {
    path: 'workspace lock',
    summary: 'Lock a workspace, so that no run starts.',
    examples: [{ line: 'reeve workspace lock api --reason "freeze"', says: 'with a reason' }],
    args: [WORKSPACE],
    flags: [{ usage: '--reason <TEXT>', help: 'reason' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceLock,
  },
  {
    path: 'workspace unlock',
    summary: 'Unlock a workspace.',
    examples: [{ line: 'reeve workspace unlock api', says: 'your own lock' }],
    args: [WORKSPACE],
    flags: [{ usage: '--force', help: 'also remove the lock of another user' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceUnlock,
  },
  {
    path: 'workspace tag',
    summary: 'Add tags to a workspace, or update their values.',
    examples: [{ line: 'reeve workspace tag api env=prod', says: 'one tag' }],
    args: [WORKSPACE, { usage: '<TAG...>', help: 'KEY or KEY=VALUE' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runWorkspaceTag,
  },
  {
    path: 'workspace variable list',
    summary: 'List the variables of a workspace.',
    examples: [
      { line: 'reeve workspace variable list api', says: 'its own variables' },
      {
        line: 'reeve workspace variable list api --all',
        says: 'the variables that its runs get, with those of variable sets',
      },
    ],
    args: [WORKSPACE],
    flags: [{ usage: '--all', help: 'include those of variable sets' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runWorkspaceVariableList,
  },
  {
    path: 'workspace variable set',
    summary: 'Set variables of a workspace.',
    examples: [
      { line: 'reeve workspace variable set api region=eu', says: 'an input variable' },
      {
        line: 'reeve workspace variable set api TOKEN --env --sensitive < token.txt',
        says: 'a secret, read from standard input',
      },
    ],
    args: [
      WORKSPACE,
      { usage: '<KEY=VALUE...>', help: 'variables; KEY alone reads standard input' },
    ],
    flags: [...SET_FLAGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runWorkspaceVariableSet,
  },
  {
    path: 'workspace variable unset',
    summary: 'Delete variables of a workspace.',
    examples: [{ line: 'reeve workspace variable unset api region', says: 'an input variable' }],
    args: [WORKSPACE, { usage: '<KEY...>', help: 'keys of variables' }],
    flags: [...UNSET_FLAGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runWorkspaceVariableUnset,
  },
]
