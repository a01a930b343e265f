import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'
import { SET_FLAGS, UNSET_FLAGS } from '../variable-flags.ts'

const SET: ArgumentSpec = { usage: '<SET>', help: 'the name or ID of a variable set' }

const MEMBERS: readonly FlagSpec[] = [
  { usage: '--workspace <WORKSPACE>', help: 'a workspace', isRepeated: true },
  { usage: '--project <PROJECT>', help: 'all workspaces of a project', isRepeated: true },
]

const SETTINGS: readonly FlagSpec[] = [
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
    load: async () => (await import('./varset.ts')).runVarsetList,
  },
  {
    path: 'varset show',
    summary: 'Show a variable set: scope and variables.',
    examples: [{ line: 'reeve varset show cloud', says: 'by its name' }],
    args: [SET],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./varset.ts')).runVarsetShow,
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
      ...SETTINGS,
      ...MEMBERS,
      { usage: '--owner <PROJECT>', help: 'the project that owns the set' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./change.ts')).runVarsetCreate,
  },
  {
    path: 'varset update',
    summary: 'Update the settings of a variable set.',
    examples: [
      { line: 'reeve varset update cloud --priority', says: 'values cannot be overridden' },
    ],
    args: [SET],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runVarsetUpdate,
  },
  {
    path: 'varset delete',
    summary: 'Delete a variable set with its variables.',
    examples: [{ line: 'reeve varset delete cloud', says: 'asks for confirmation' }],
    args: [SET],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runVarsetDelete,
  },
  {
    path: 'varset add',
    summary: 'Apply a variable set to workspaces or projects.',
    examples: [{ line: 'reeve varset add cloud --workspace api', says: 'one workspace' }],
    args: [SET],
    flags: [...MEMBERS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runVarsetAdd,
  },
  {
    path: 'varset remove',
    summary: 'Stop applying a variable set to workspaces or projects.',
    examples: [{ line: 'reeve varset remove cloud --workspace api', says: 'one workspace' }],
    args: [SET],
    flags: [...MEMBERS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runVarsetRemove,
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
    load: async () => (await import('./varset.ts')).runVarsetSet,
  },
  {
    path: 'varset unset',
    summary: 'Delete variables of a variable set.',
    examples: [{ line: 'reeve varset unset cloud region', says: 'an input variable' }],
    args: [SET, { usage: '<KEY...>', help: 'keys of variables' }],
    flags: [...UNSET_FLAGS, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./varset.ts')).runVarsetUnset,
  },
]
