import { AUDIT_FILTER_FLAGS } from '../cluster/commands.ts'
import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'
import { ORGANIZATION_FLAG, TAG_FLAG } from './flags.ts'

const NAME: ArgumentSpec = { usage: '<NAME>', help: 'the name of an organization' }

const ORGANIZATION_SETTINGS: readonly FlagSpec[] = [
  { usage: '--email <EMAIL>', help: 'contact address of the owners' },
  { usage: '--require-override-comment', help: 'require a comment for policy overrides' },
  { usage: '--no-require-override-comment', help: 'do not require a comment for policy overrides' },
]

const MEMBER: ArgumentSpec = { usage: '<MEMBER>', help: 'the username or email of a member' }

const memberCommands: readonly CommandSpec[] = [
  {
    path: 'org member list',
    summary: 'List the members of an organization and pending invitations.',
    examples: [
      { line: 'reeve org member list', says: 'with their teams' },
      { line: 'reeve org member list --status invited', says: 'pending invitations' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only usernames or emails that contain this text' },
      { usage: '--status <STATUS>', help: 'active or invited' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./organization.ts')).runOrgMemberList,
  },
  {
    path: 'org member add',
    summary: 'Invite a user to an organization.',
    examples: [
      {
        line: 'reeve org member add ada@acme.example --team platform',
        says: 'and add the user to a team',
      },
    ],
    args: [{ usage: '<EMAIL>', help: 'email address of the user' }],
    flags: [
      { usage: '--team <TEAM>', help: 'a team the user joins', isRepeated: true },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./organization.ts')).runOrgMemberAdd,
  },
  {
    path: 'org member remove',
    summary: 'Remove a member from an organization and all its teams.',
    examples: [{ line: 'reeve org member remove ada@acme.example', says: 'asks for confirmation' }],
    args: [MEMBER],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./organization.ts')).runOrgMemberRemove,
  },
]

export const orgCommands: readonly CommandSpec[] = [
  {
    path: 'org list',
    summary: 'List the organizations that the token may read.',
    examples: [{ line: 'reeve org list', says: 'with the permissions of the token in each' }],
    isRead: true,
    load: async () => (await import('./organization.ts')).runOrgList,
  },
  {
    path: 'org show',
    summary: 'Show an organization.',
    examples: [{ line: 'reeve org show acme', says: 'settings and permissions' }],
    args: [NAME],
    isRead: true,
    load: async () => (await import('./organization.ts')).runOrgShow,
  },
  {
    path: 'org create',
    summary: 'Create an organization with an owners team and a default project.',
    examples: [
      { line: 'reeve org create acme --email ops@acme.example', says: 'a new organization' },
    ],
    args: [NAME],
    flags: ORGANIZATION_SETTINGS,
    isRead: true,
    load: async () => (await import('./organization.ts')).runOrgCreate,
  },
  {
    path: 'org update',
    summary: 'Update an organization.',
    examples: [{ line: 'reeve org update acme --name acme-eu', says: 'rename it' }],
    args: [NAME],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...ORGANIZATION_SETTINGS],
    isRead: true,
    load: async () => (await import('./organization.ts')).runOrgUpdate,
  },
  {
    path: 'org delete',
    summary: 'Delete an organization and everything in it.',
    examples: [{ line: 'reeve org delete acme', says: 'asks for confirmation' }],
    args: [NAME],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }],
    load: async () => (await import('./organization.ts')).runOrgDelete,
  },
  {
    path: 'org audit',
    summary: 'List the audit trail of an organization, newest first.',
    details: 'For owners and the organization token. Includes denied requests.',
    examples: [{ line: 'reeve org audit acme --since 1h', says: 'the last hour' }],
    args: [NAME],
    flags: AUDIT_FILTER_FLAGS,
    isRead: true,
    load: async () => (await import('../cluster/audit.ts')).runOrgAudit,
  },
  ...memberCommands,
]

const PROJECT: ArgumentSpec = { usage: '<PROJECT>', help: 'the name or ID of a project' }

const PROJECT_SETTINGS: readonly FlagSpec[] = [
  { usage: '--description <TEXT>', help: 'description; "" removes it' },
  {
    usage: '--auto-destroy <DURATION>',
    help:
      'auto-destroy workspaces after this time of inactivity, such as 14d or 24h; "" ' +
      'disables it',
  },
  TAG_FLAG,
  ORGANIZATION_FLAG,
]

export const projectCommands: readonly CommandSpec[] = [
  {
    path: 'project list',
    summary: 'List projects.',
    examples: [
      { line: 'reeve project list', says: 'all of the organization' },
      { line: 'reeve project list --search pay --json', says: 'names that contain "pay"' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only names that contain this text' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectList,
  },
  {
    path: 'project show',
    summary: 'Show a project and its tags.',
    examples: [{ line: 'reeve project show payments', says: 'by its name' }],
    args: [PROJECT],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectShow,
  },
  {
    path: 'project create',
    summary: 'Create a project.',
    examples: [{ line: 'reeve project create payments --tag env=prod', says: 'with a tag' }],
    args: [{ usage: '<NAME>', help: 'name, 3 to 40 characters' }],
    flags: PROJECT_SETTINGS,
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectCreate,
  },
  {
    path: 'project update',
    summary: 'Update a project. Tags replace all existing tags.',
    examples: [
      { line: 'reeve project update payments --name billing', says: 'rename it' },
      {
        line: 'reeve project update payments --auto-destroy 14d',
        says: 'destroy inactive workspaces',
      },
    ],
    args: [PROJECT],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...PROJECT_SETTINGS],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectUpdate,
  },
  {
    path: 'project delete',
    summary: 'Delete a project without workspaces and namespaces.',
    examples: [
      { line: 'reeve project delete payments', says: 'asks for confirmation' },
      { line: 'reeve project delete payments --force', says: 'with its workspaces' },
    ],
    args: [PROJECT],
    flags: [
      { usage: '--force', help: 'also delete its workspaces and detach its namespaces' },
      { usage: '-y, --yes', help: 'skip the confirmation' },
      ORGANIZATION_FLAG,
    ],
    load: async () => (await import('./project.ts')).runProjectDelete,
  },
  {
    path: 'project tag',
    summary: 'Add tags to a project, or update their values.',
    examples: [{ line: 'reeve project tag payments env=prod audited', says: 'two tags' }],
    args: [PROJECT, { usage: '<TAG...>', help: 'KEY or KEY=VALUE' }],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectTag,
  },
  {
    path: 'project move',
    summary: 'Move workspaces to a project, all or none.',
    examples: [{ line: 'reeve project move payments api web', says: 'two workspaces' }],
    args: [PROJECT, { usage: '<WORKSPACE...>', help: 'names or IDs of workspaces' }],
    flags: [ORGANIZATION_FLAG],
    load: async () => (await import('./project.ts')).runProjectMove,
  },
  {
    path: 'project namespaces',
    summary: 'List or change the namespaces of a project; its policy sets apply to their jobs.',
    examples: [
      { line: 'reeve project namespaces payments', says: 'list them' },
      { line: 'reeve project namespaces payments --add prod', says: 'add one' },
    ],
    args: [PROJECT],
    flags: [
      {
        usage: '--add <NAMESPACE>',
        help: 'a namespace to add',
        isRepeated: true,
        completionKind: 'namespace',
      },
      {
        usage: '--remove <NAMESPACE>',
        help: 'a namespace to remove',
        isRepeated: true,
        completionKind: 'namespace',
      },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./project.ts')).runProjectNamespaces,
  },
]

const TEAM: ArgumentSpec = { usage: '<TEAM>', help: 'the name or ID of a team' }
const USERS: ArgumentSpec = { usage: '<USER...>', help: 'usernames' }

const TEAM_SETTINGS: readonly FlagSpec[] = [
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
    load: async () => (await import('./organization.ts')).runTeamList,
  },
  {
    path: 'team show',
    summary: 'Show a team and its members.',
    examples: [{ line: 'reeve team show platform', says: 'by its name' }],
    args: [TEAM],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./organization.ts')).runTeamShow,
  },
  {
    path: 'team create',
    summary: 'Create a team.',
    examples: [
      { line: 'reeve team create platform --allow manage-projects', says: 'with a permission' },
    ],
    args: [{ usage: '<NAME>', help: 'name' }],
    flags: TEAM_SETTINGS,
    isRead: true,
    load: async () => (await import('./organization.ts')).runTeamCreate,
  },
  {
    path: 'team update',
    summary: 'Update a team. Permissions that are not named are kept.',
    examples: [
      { line: 'reeve team update platform --deny manage-projects', says: 'remove a permission' },
    ],
    args: [TEAM],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...TEAM_SETTINGS],
    isRead: true,
    load: async () => (await import('./organization.ts')).runTeamUpdate,
  },
  {
    path: 'team delete',
    summary: 'Delete a team and its tokens.',
    examples: [{ line: 'reeve team delete platform', says: 'asks for confirmation' }],
    args: [TEAM],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('./organization.ts')).runTeamDelete,
  },
  {
    path: 'team add-user',
    summary: 'Add users to a team.',
    examples: [{ line: 'reeve team add-user platform ada', says: 'one user' }],
    args: [TEAM, USERS],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./organization.ts')).runTeamAddUser,
  },
  {
    path: 'team remove-user',
    summary: 'Remove users from a team.',
    examples: [{ line: 'reeve team remove-user platform ada', says: 'one user' }],
    args: [TEAM, USERS],
    flags: [ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./organization.ts')).runTeamRemoveUser,
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
    load: async () => (await import('./organization.ts')).runTeamGrant,
  },
  {
    path: 'team revoke',
    summary: 'Revoke the access of a team to a project.',
    examples: [{ line: 'reeve team revoke platform payments', says: 'of one project' }],
    args: [TEAM, { usage: '<PROJECT>', help: 'the name or ID of a project' }],
    flags: [ORGANIZATION_FLAG],
    load: async () => (await import('./organization.ts')).runTeamRevoke,
  },
]

const OWNERS: readonly FlagSpec[] = [
  { usage: '--team <TEAM>', help: 'create a team token' },
  { usage: '--org', help: 'the organization token' },
  ORGANIZATION_FLAG,
]

export const tokenCommands: readonly CommandSpec[] = [
  {
    path: 'token list',
    summary: 'List tokens of the governance API: your own, or team tokens.',
    examples: [
      { line: 'reeve token list', says: 'your own tokens' },
      { line: 'reeve token list --teams', says: 'team tokens' },
    ],
    flags: [{ usage: '--teams', help: 'team tokens' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenList,
  },
  {
    path: 'token create',
    summary: 'Create a token of the governance API. Its secret is shown only once.',
    details: 'For tokens of the workload API, use "reeve acl token create".',
    examples: [
      { line: 'reeve token create --description laptop', says: 'your own tokens' },
      {
        line: 'reeve token create --team platform --ttl 720h',
        says: 'a team token that expires after 30 days',
      },
    ],
    flags: [
      { usage: '--description <TEXT>', help: 'description' },
      { usage: '--ttl <DURATION>', help: 'time to live, such as 720h' },
      ...OWNERS,
    ],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenCreate,
  },
  {
    path: 'token delete',
    summary: 'Delete a token of the governance API.',
    examples: [
      { line: 'reeve token delete at-abc123', says: 'by ID' },
      { line: 'reeve token delete --org', says: 'the organization token' },
    ],
    args: [{ usage: '[TOKEN]', help: 'the ID of a token' }],
    flags: [{ usage: '--org', help: 'the organization token' }, ORGANIZATION_FLAG],
    load: async () => (await import('./token.ts')).runTokenDelete,
  },
]
