import { AUDIT_FILTER_FLAGS } from '../../cluster/commands.ts'
import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../flags.ts'

const NAME: ArgumentSpec = { usage: '<NAME>', help: 'the name of an organization' }

const SETTINGS: readonly FlagSpec[] = [
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
    load: async () => (await import('../org.ts')).runOrgMemberList,
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
    load: async () => (await import('../org.ts')).runOrgMemberAdd,
  },
  {
    path: 'org member remove',
    summary: 'Remove a member from an organization and all its teams.',
    examples: [{ line: 'reeve org member remove ada@acme.example', says: 'asks for confirmation' }],
    args: [MEMBER],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }, ORGANIZATION_FLAG],
    load: async () => (await import('../org.ts')).runOrgMemberRemove,
  },
]

export const orgCommands: readonly CommandSpec[] = [
  {
    path: 'org list',
    summary: 'List the organizations that the token may read.',
    examples: [{ line: 'reeve org list', says: 'with the permissions of the token in each' }],
    isRead: true,
    load: async () => (await import('../org.ts')).runOrgList,
  },
  {
    path: 'org show',
    summary: 'Show an organization.',
    examples: [{ line: 'reeve org show acme', says: 'settings and permissions' }],
    args: [NAME],
    isRead: true,
    load: async () => (await import('../org.ts')).runOrgShow,
  },
  {
    path: 'org create',
    summary: 'Create an organization with an owners team and a default project.',
    examples: [
      { line: 'reeve org create acme --email ops@acme.example', says: 'a new organization' },
    ],
    args: [NAME],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('../org.ts')).runOrgCreate,
  },
  {
    path: 'org update',
    summary: 'Update an organization.',
    examples: [{ line: 'reeve org update acme --name acme-eu', says: 'rename it' }],
    args: [NAME],
    flags: [{ usage: '--name <NAME>', help: 'new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('../org.ts')).runOrgUpdate,
  },
  {
    path: 'org delete',
    summary: 'Delete an organization and everything in it.',
    examples: [{ line: 'reeve org delete acme', says: 'asks for confirmation' }],
    args: [NAME],
    flags: [{ usage: '-y, --yes', help: 'skip the confirmation' }],
    load: async () => (await import('../org.ts')).runOrgDelete,
  },
  {
    path: 'org audit',
    summary: 'List the audit trail of an organization, newest first.',
    details: 'For owners and the organization token. Includes denied requests.',
    examples: [{ line: 'reeve org audit acme --since 1h', says: 'the last hour' }],
    args: [NAME],
    flags: AUDIT_FILTER_FLAGS,
    isRead: true,
    load: async () => (await import('../../cluster/audit.ts')).runOrgAudit,
  },
  ...memberCommands,
]
