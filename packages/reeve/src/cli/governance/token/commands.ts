import type { CommandSpec, FlagSpec } from '../../command.ts'
import { ORGANIZATION_FLAG } from '../flags.ts'

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
    load: async () => (await import('../token.ts')).runTokenList,
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
    load: async () => (await import('../token.ts')).runTokenCreate,
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
    load: async () => (await import('../token.ts')).runTokenDelete,
  },
]
