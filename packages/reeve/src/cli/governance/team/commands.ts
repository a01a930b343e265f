import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../flags.ts'

const TEAM: ArgumentSpec = { usage: '<TEAM>', help: 'the name or ID of a team' }
const USERS: ArgumentSpec = { usage: '<USER...>', help: 'usernames' }

const SETTINGS: readonly FlagSpec[] = [
  {
    usage: '--allow <ACCESS>',
    help: 'grant an organization permission, such as manage-projects or manage-policies',
    isRepeated: true,
  },
  { usage: '--deny <ACCESS>', help: 'remove an organization permission', isRepeated: true },
  { usage: '--visibility <WHO>', help: 'who can see the team: secret or organization' },
  ORGANIZATION_FLAG,
]

export const teamCommands: readonly CommandSpec[] = [
  {
    path: 'team list',
    summary: 'List teams.',
    examples: [{ line: 'reeve team list', says: 'with their organization permissions' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamList,
  },
  {
    path: 'team show',
    summary: 'Show a team and its members.',
    examples: [{ line: 'reeve team show platform', says: 'by its name' }],
    args: [TEAM],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamShow,
  },
  {
    path: 'team create',
    summary: 'Create a team.',
    examples: [
      { line: 'reeve team create platform --allow manage-projects', says: 'with a permission' },
    ],
    args: [{ usage: '<NAME>', help: 'name' }],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamCreate,
  },
  {
    path: 'team update',
    summary: 'Update a team. Permissions that are not named are kept.',
    examples: [
      { line: 'reeve team update platform --deny manage-projects', says: 'remove a permission' },
    ],
    args: [TEAM],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamUpdate,
  },
  {
    path: 'team delete',
    summary: 'Delete a team and its tokens.',
    examples: [{ line: 'reeve team delete platform', says: 'asks for confirmation' }],
    args: [TEAM],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('../team.ts')).runTeamDelete,
  },
  {
    path: 'team add-user',
    summary: 'Add users to a team.',
    examples: [{ line: 'reeve team add-user platform ada', says: 'one user' }],
    args: [TEAM, USERS],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamAddUser,
  },
  {
    path: 'team remove-user',
    summary: 'Remove users from a team.',
    examples: [{ line: 'reeve team remove-user platform ada', says: 'one user' }],
    args: [TEAM, USERS],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamRemoveUser,
  },
  {
    path: 'team grant',
    summary: 'Grant a team access to a project, or change its access level.',
    examples: [{ line: 'reeve team grant platform payments write', says: 'to one project' }],
    args: [
      TEAM,
      { usage: '<PROJECT>', help: 'the name or ID of a project' },
      { usage: '<LEVEL>', help: 'read, write, maintain or admin' },
    ],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('../team.ts')).runTeamGrant,
  },
  {
    path: 'team revoke',
    summary: 'Revoke the access of a team to a project.',
    examples: [{ line: 'reeve team revoke platform payments', says: 'of one project' }],
    args: [TEAM, { usage: '<PROJECT>', help: 'the name or ID of a project' }],
    flags: [ORGANIZATION_FLAG],
    load: async () => (await import('../team.ts')).runTeamRevoke,
  },
]
