import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const TEAM: ArgumentSpec = { usage: '<TEAM>', help: 'the name or id of a team' }
const USERS: ArgumentSpec = { usage: '<USER...>', help: 'usernames' }

const SETTINGS: readonly FlagSpec[] = [
  {
    usage: '--allow <ACCESS>',
    help: 'what it may do in the whole organization, such as manage-projects or manage-policies',
    isRepeated: true,
  },
  { usage: '--deny <ACCESS>', help: 'what it may do no more', isRepeated: true },
  { usage: '--visibility <WHO>', help: 'secret, or organization: who sees that it exists' },
  ORGANIZATION_FLAG,
]

export const teamCommands: readonly CommandSpec[] = [
  {
    path: 'team list',
    summary: 'List teams.',
    examples: [{ line: 'reeve team list', says: 'with what they may do everywhere' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./team.ts')).runTeamList,
  },
  {
    path: 'team show',
    summary: 'Show a team with its members.',
    examples: [{ line: 'reeve team show platform', says: 'by its name' }],
    args: [TEAM],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./team.ts')).runTeamShow,
  },
  {
    path: 'team create',
    summary: 'Make a team.',
    examples: [
      { line: 'reeve team create platform --allow manage-projects', says: 'with a right' },
    ],
    args: [{ usage: '<NAME>', help: 'its name' }],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./change.ts')).runTeamCreate,
  },
  {
    path: 'team update',
    summary: 'Change a team. Rights that are not named stay as they are.',
    examples: [
      { line: 'reeve team update platform --deny manage-projects', says: 'one right less' },
    ],
    args: [TEAM],
    flags: [{ usage: '--name <NAME>', help: 'its new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./change.ts')).runTeamUpdate,
  },
  {
    path: 'team delete',
    summary: 'Delete a team with its tokens.',
    examples: [{ line: 'reeve team delete platform', says: 'after asking' }],
    args: [TEAM],
    flags: [{ usage: '-y, --yes', help: 'do not ask' }, ORGANIZATION_FLAG],
    load: async () => (await import('./change.ts')).runTeamDelete,
  },
  {
    path: 'team add-user',
    summary: 'Add users to a team.',
    examples: [{ line: 'reeve team add-user platform ada', says: 'one user' }],
    args: [TEAM, USERS],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runTeamAddUser,
  },
  {
    path: 'team remove-user',
    summary: 'Remove users from a team.',
    examples: [{ line: 'reeve team remove-user platform ada', says: 'one user' }],
    args: [TEAM, USERS],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./change.ts')).runTeamRemoveUser,
  },
  {
    path: 'team grant',
    summary: 'Give a team access to a project, or change the access it has.',
    examples: [{ line: 'reeve team grant platform payments write', says: 'to one project' }],
    args: [
      TEAM,
      { usage: '<PROJECT>', help: 'the name or id of a project' },
      { usage: '<LEVEL>', help: 'read, write, maintain or admin' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./access.ts')).runTeamGrant,
  },
  {
    path: 'team revoke',
    summary: 'Take the access to a project from a team.',
    examples: [{ line: 'reeve team revoke platform payments', says: 'of one project' }],
    args: [TEAM, { usage: '<PROJECT>', help: 'the name or id of a project' }],
    flags: [ORGANIZATION_FLAG],
    load: async () => (await import('./access.ts')).runTeamRevoke,
  },
]
