import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'
import { ORGANIZATION_FLAG, SET_FLAGS, TAG_FLAG, UNSET_FLAGS } from './flags.ts'

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
  {
    usage: '--share-outputs <WITH>',
    help: 'whose runs may read the outputs: none, project or organization',
  },
  {
    usage: '--state-consumer <WORKSPACE>',
    help: 'another workspace whose runs may read them; replaces all, and "" removes all',
    isRepeated: true,
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
    load: async () => (await import('./workspace.ts')).runWorkspaceCreate,
  },
  {
    path: 'workspace update',
    summary: 'Update a workspace. Tags replace all existing tags.',
    examples: [
      { line: 'reeve workspace update api --auto-apply', says: 'apply runs automatically' },
      {
        line: 'reeve workspace update network --state-consumer api',
        says: 'let the runs of api read the outputs of network',
      },
    ],
    args: [WORKSPACE],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceUpdate,
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
    load: async () => (await import('./workspace.ts')).runWorkspaceDelete,
  },
  {
    path: 'workspace lock',
    summary: 'Lock a workspace, so that no run starts.',
    examples: [{ line: 'reeve workspace lock api --reason "freeze"', says: 'with a reason' }],
    args: [WORKSPACE],
    flags: [{ usage: '--reason <TEXT>', help: 'reason' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceLock,
  },
  {
    path: 'workspace unlock',
    summary: 'Unlock a workspace.',
    examples: [{ line: 'reeve workspace unlock api', says: 'your own lock' }],
    args: [WORKSPACE],
    flags: [{ usage: '--force', help: 'also remove the lock of another user' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceUnlock,
  },
  {
    path: 'workspace tag',
    summary: 'Add tags to a workspace, or update their values.',
    examples: [{ line: 'reeve workspace tag api env=prod', says: 'one tag' }],
    args: [WORKSPACE, { usage: '<TAG...>', help: 'KEY or KEY=VALUE' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceTag,
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
    load: async () => (await import('./workspace.ts')).runWorkspaceVariableList,
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
    load: async () => (await import('./workspace.ts')).runWorkspaceVariableSet,
  },
  {
    path: 'workspace variable unset',
    summary: 'Delete variables of a workspace.',
    examples: [{ line: 'reeve workspace variable unset api region', says: 'an input variable' }],
    args: [WORKSPACE, { usage: '<KEY...>', help: 'keys of variables' }],
    flags: [...UNSET_FLAGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./workspace.ts')).runWorkspaceVariableUnset,
  },
]

const SET: ArgumentSpec = { usage: '<SET>', help: 'the name or ID of a variable set' }

const MEMBERS: readonly FlagSpec[] = [
  { usage: '--workspace <WORKSPACE>', help: 'a workspace', isRepeated: true },
  { usage: '--project <PROJECT>', help: 'all workspaces of a project', isRepeated: true },
]

const COMMANDS_SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description' },
  { usage: '--global', help: 'apply the set to all workspaces of the organization' },
  { usage: '--no-global', help: 'apply the set only to the named workspaces and projects' },
  { usage: '--priority', help: 'let the values override those of runs and workspaces' },
  { usage: '--no-priority', help: 'let runs and workspaces override the values' },
]

export const varsetCommands: readonly CommandSpec[] = [
  {
    path: 'varset list',
    summary: 'List variable sets.',
    examples: [
      { line: 'reeve varset list', says: 'of the organization' },
      { line: 'reeve varset list --workspace api', says: 'that apply to a workspace' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only names that contain this text' },
      { usage: '--workspace <WORKSPACE>', help: 'only those that apply to this workspace' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetList,
  },
  {
    path: 'varset show',
    summary: 'Show a variable set: scope and variables.',
    examples: [{ line: 'reeve varset show cloud', says: 'by its name' }],
    args: [SET],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetShow,
  },
  {
    path: 'varset create',
    summary: 'Create a variable set.',
    examples: [
      {
        line: 'reeve varset create cloud --project payments',
        says: 'for the workspaces of a project',
      },
      { line: 'reeve varset create proxy --global', says: 'for all workspaces' },
    ],
    args: [{ usage: '<NAME>', help: 'name' }],
    flags: [
      ...COMMANDS_SETTINGS,
      ...MEMBERS,
      { usage: '--owner <PROJECT>', help: 'the project that owns the set' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetCreate,
  },
  {
    path: 'varset update',
    summary: 'Update the settings of a variable set.',
    examples: [
      { line: 'reeve varset update cloud --priority', says: 'values cannot be overridden' },
    ],
    args: [SET],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...COMMANDS_SETTINGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetUpdate,
  },
  {
    path: 'varset delete',
    summary: 'Delete a variable set with its variables.',
    examples: [{ line: 'reeve varset delete cloud', says: 'asks for confirmation' }],
    args: [SET],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./variables.ts')).runVarsetDelete,
  },
  {
    path: 'varset add',
    summary: 'Apply a variable set to workspaces or projects.',
    examples: [{ line: 'reeve varset add cloud --workspace api', says: 'one workspace' }],
    args: [SET],
    flags: [...MEMBERS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetAdd,
  },
  {
    path: 'varset remove',
    summary: 'Stop applying a variable set to workspaces or projects.',
    examples: [{ line: 'reeve varset remove cloud --workspace api', says: 'one workspace' }],
    args: [SET],
    flags: [...MEMBERS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetRemove,
  },
  {
    path: 'varset set',
    summary: 'Set variables of a variable set.',
    examples: [
      { line: 'reeve varset set cloud region=eu', says: 'an input variable' },
      {
        line: 'reeve varset set cloud TOKEN --env --sensitive < token.txt',
        says: 'a secret, read from standard input',
      },
    ],
    args: [SET, { usage: '<KEY=VALUE...>', help: 'variables; KEY alone reads standard input' }],
    flags: [...SET_FLAGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetSet,
  },
  {
    path: 'varset unset',
    summary: 'Delete variables of a variable set.',
    examples: [{ line: 'reeve varset unset cloud region', says: 'an input variable' }],
    args: [SET, { usage: '<KEY...>', help: 'keys of variables' }],
    flags: [...UNSET_FLAGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./variables.ts')).runVarsetUnset,
  },
]
