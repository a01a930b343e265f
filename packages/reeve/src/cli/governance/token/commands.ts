import type { CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../organization.ts'

const OWNERS: readonly FlagSpec[] = [
  { usage: '--team <TEAM>', help: 'make it a token of this team' },
  { usage: '--org', help: 'make it the token of the organization' },
  ORGANIZATION_FLAG,
]

export const tokenCommands: readonly CommandSpec[] = [
  {
    path: 'token list',
    summary: 'List tokens of the governance API: your own, or those of the teams.',
    examples: [
      { line: 'reeve token list', says: 'your own' },
      { line: 'reeve token list --teams', says: 'those of the teams' },
    ],
    flags: [{ usage: '--teams', help: 'those of the teams' }, ORGANIZATION_FLAG],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenList,
  },
  {
    path: 'token create',
    summary: 'Make a token of the governance API. Its secret is shown this once.',
    details: 'For jobs and nodes, "reeve acl token create" makes tokens.',
    examples: [
      { line: 'reeve token create --description laptop', says: 'your own' },
      { line: 'reeve token create --team platform --ttl 720h', says: "a team's, for a month" },
    ],
    flags: [
      { usage: '--description <TEXT>', help: 'what it is for' },
      { usage: '--ttl <DURATION>', help: 'how long it is good, such as 720h' },
      ...OWNERS,
    ],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenCreate,
  },
  {
    path: 'token delete',
    summary: 'Delete a token of the governance API.',
    examples: [
      { line: 'reeve token delete at-abc123', says: 'by its id' },
      { line: 'reeve token delete --org', says: 'that of the organization' },
    ],
    args: [{ usage: '[TOKEN]', help: 'the id of a token' }],
    flags: [{ usage: '--org', help: 'that of the organization' }, ORGANIZATION_FLAG],
    load: async () => (await import('./token.ts')).runTokenDelete,
  },
]
