import type { ArgumentSpec, CommandSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const WORKSPACE: ArgumentSpec = { usage: '<WORKSPACE>', help: 'the name or ID of a workspace' }
const VERSION: ArgumentSpec = {
  usage: '[VERSION]',
  help: 'the ID or serial of a state version; the current one if omitted',
}

export const stateCommands: readonly CommandSpec[] = [
  {
    path: 'state list',
    summary: 'List the state versions of a workspace, newest first.',
    examples: [{ line: 'reeve state list api', says: 'of one workspace' }],
    args: [WORKSPACE],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStateList,
  },
  {
    path: 'state show',
    summary: 'Show a state version: its resources and outputs.',
    examples: [
      { line: 'reeve state show api', says: 'the current state' },
      { line: 'reeve state show api 7', says: 'the version with serial 7' },
    ],
    args: [WORKSPACE, VERSION],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStateShow,
  },
  {
    path: 'state pull',
    summary: 'Print a state as it was uploaded, with its sensitive values.',
    examples: [{ line: 'reeve state pull api > state.json', says: 'into a file' }],
    args: [WORKSPACE, VERSION],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state.ts')).runStatePull,
  },
  {
    path: 'state diff',
    summary: 'Compare two state versions of a workspace.',
    details: 'Without versions, compares the current state with the one before it.',
    examples: [
      { line: 'reeve state diff api', says: 'what the latest write changed' },
      { line: 'reeve state diff api 5 9', says: 'by serial' },
    ],
    args: [
      WORKSPACE,
      { usage: '[FROM]', help: 'the ID or serial of the older version' },
      { usage: '[TO]', help: 'the newer version; the current one if omitted' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./state-diff.ts')).runStateDiff,
  },
  {
    path: 'state rollback',
    summary: 'Make an earlier state version the current one, as a new version.',
    details: 'The workspace is locked meanwhile. Infrastructure is not changed.',
    examples: [{ line: 'reeve state rollback api 7', says: 'to the version with serial 7' }],
    args: [WORKSPACE, { usage: '<VERSION>', help: 'the ID or serial of a state version' }],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./rollback.ts')).runStateRollback,
  },
]
