import { AUDIT_FLAGS } from '../../audit/flags.ts'
import type { ArgumentSpec, CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const NAME: ArgumentSpec = { usage: '<NAME>', help: 'the name of an organization' }

const SETTINGS: readonly FlagSpec[] = [
  { usage: '--email <EMAIL>', help: 'where its owners are reached' },
  { usage: '--require-override-comment', help: 'overrides of policies need a comment' },
  { usage: '--no-require-override-comment', help: 'overrides need no comment' },
]

const MEMBER: ArgumentSpec = { usage: '<MEMBER>', help: 'the username or email of a member' }

const memberCommands: readonly CommandSpec[] = [
  {
    path: 'org member list',
    summary: 'List who belongs to an organization, and who is invited.',
    examples: [
      { line: 'reeve org member list', says: 'with their teams' },
      { line: 'reeve org member list --status invited', says: 'who has not accepted yet' },
    ],
    flags: [
      { usage: '--search <TEXT>', help: 'only usernames or emails with this in them' },
      { usage: '--status <STATUS>', help: 'active or invited' },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./member.ts')).runOrgMemberList,
  },
  {
    path: 'org member add',
    summary: 'Invite somebody into an organization.',
    examples: [
      { line: 'reeve org member add ada@acme.example --team platform', says: 'and into a team' },
    ],
    args: [{ usage: '<EMAIL>', help: 'where the user is reached' }],
    flags: [
      { usage: '--team <TEAM>', help: 'a team the user joins', isRepeated: true },
      ORGANIZATION_FLAG,
    ],
    isRead: true,
    load: async () => (await import('./member.ts')).runOrgMemberAdd,
  },
  {
    path: 'org member remove',
    summary: 'Take somebody out of an organization and all its teams.',
    examples: [{ line: 'reeve org member remove ada@acme.example', says: 'after asking' }],
    args: [MEMBER],
    flags: [{ usage: '-y, --yes', help: 'do not ask' }, ORGANIZATION_FLAG],
    load: async () => (await import('./member.ts')).runOrgMemberRemove,
  },
]

export const orgCommands: readonly CommandSpec[] = [
  {
    path: 'org list',
    summary: 'List the organizations that the token may see.',
    examples: [{ line: 'reeve org list', says: 'with what the token may do in each' }],
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgList,
  },
  {
    path: 'org show',
    summary: 'Show an organization.',
    examples: [{ line: 'reeve org show acme', says: 'its settings and permissions' }],
    args: [NAME],
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgShow,
  },
  {
    path: 'org create',
    summary: 'Make an organization with its owners team and default project.',
    examples: [{ line: 'reeve org create acme --email ops@acme.example', says: 'a new one' }],
    args: [NAME],
    flags: SETTINGS,
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgCreate,
  },
  {
    path: 'org update',
    summary: 'Change an organization.',
    examples: [{ line: 'reeve org update acme --name acme-eu', says: 'another name' }],
    args: [NAME],
    flags: [{ usage: '--name <NAME>', help: 'its new name' }, ...SETTINGS],
    isRead: true,
    load: async () => (await import('./org.ts')).runOrgUpdate,
  },
  {
    path: 'org delete',
    summary: 'Delete an organization with everything in it.',
    examples: [{ line: 'reeve org delete acme', says: 'after asking' }],
    args: [NAME],
    flags: [{ usage: '-y, --yes', help: 'do not ask' }],
    load: async () => (await import('./org.ts')).runOrgDelete,
  },
  {
    path: 'org audit',
    summary: 'List who wrote what in an organization, the newest first.',
    details: 'For owners and the organization token; refusals are in it too.',
    examples: [{ line: 'reeve org audit acme --since 1h', says: 'the last hour' }],
    args: [NAME],
    flags: AUDIT_FLAGS,
    isRead: true,
    load: async () => (await import('../../audit/audit.ts')).runOrgAudit,
  },
  ...memberCommands,
]
