import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const ACCESSOR: ArgumentSpec = {
  usage: '<ACCESSOR>',
  help: 'the accessor of a token, or the beginning of one',
}
const POLICY: ArgumentSpec = { usage: '<NAME>', help: 'the name of a policy' }
const ROLE: ArgumentSpec = { usage: '<ROLE>', help: 'the name of a role, or its id' }
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'whole ids' }
const TOKEN_FLAGS: readonly FlagSpec[] = [
  { usage: '--name <NAME>', help: 'what it is for' },
  { usage: '--type <TYPE>', help: '"client", or "management" that may do everything' },
  { usage: '--policy <NAME>', help: 'a policy it has', isRepeated: true },
  { usage: '--role <ROLE>', help: 'a role it has, by name or id', isRepeated: true },
]
const ROLE_FLAGS: readonly FlagSpec[] = [
  { usage: '--name <NAME>', help: 'its name' },
  { usage: '--description <TEXT>', help: 'what it is for' },
  { usage: '--policy <NAME>', help: 'a policy it has', isRepeated: true },
]

const tokenCommands: readonly CommandSpec[] = [
  {
    path: 'acl token create',
    summary: 'Create a token.',
    examples: [
      { line: 'reeve acl token create --name ci --policy deploy', says: 'for a pipeline' },
      { line: 'reeve acl token create --type management --name ops --ttl 8h', says: 'for a day' },
    ],
    flags: [
      ...TOKEN_FLAGS,
      { usage: '--global', help: 'copied to every region' },
      { usage: '--ttl <DURATION>', help: 'it expires after this, such as 8h' },
    ],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenCreate,
  },
  {
    path: 'acl token read',
    summary: 'Show a token.',
    examples: [{ line: 'reeve acl token read 8a7f', says: 'by the beginning of its accessor' }],
    args: [ACCESSOR],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenRead,
  },
  {
    path: 'acl token self',
    summary: 'Show the token that this command line uses.',
    examples: [{ line: 'reeve acl token self', says: 'who am I, and what may I do' }],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenSelf,
  },
  {
    path: 'acl token update',
    summary: 'Change a token; what is not named stays.',
    examples: [
      { line: 'reeve acl token update --policy deploy --policy read 8a7f', says: 'its policies' },
    ],
    args: [ACCESSOR],
    flags: TOKEN_FLAGS,
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenUpdate,
  },
  {
    path: 'acl token delete',
    summary: 'Delete a token.',
    examples: [{ line: 'reeve acl token delete 8a7f', says: 'it is worth nothing from now on' }],
    args: [ACCESSOR],
    load: async () => (await import('./token.ts')).runTokenDelete,
  },
  {
    path: 'acl token list',
    summary: 'List tokens, without their secrets.',
    examples: [
      { line: 'reeve acl token list', says: 'oldest first' },
      {
        line: `reeve acl token list --filter 'Type == "management"'`,
        says: 'who may do everything',
      },
    ],
    flags: [
      { usage: '--global', help: 'only those that are copied to every region' },
      { usage: '--filter <EXPRESSION>', help: 'only those it is true for' },
      VERBOSE,
    ],
    isRead: true,
    load: async () => (await import('./token.ts')).runTokenList,
  },
]

const policyCommands: readonly CommandSpec[] = [
  {
    path: 'acl policy apply',
    summary: 'Create or change an access policy.',
    examples: [
      { line: 'reeve acl policy apply --description "Deploys" deploy deploy.hcl', says: 'a file' },
      { line: 'reeve acl policy apply deploy -', says: 'rules from standard input' },
      {
        line: 'reeve acl policy apply --job web web-secrets rules.hcl',
        says: 'for what job "web" does itself',
      },
    ],
    args: [
      POLICY,
      { usage: '<FILE>', help: 'its rules, "-" for standard input', completes: 'file' },
    ],
    flags: [
      { usage: '--description <TEXT>', help: 'what it is for' },
      { usage: '--job <JOB>', help: 'the workload that has it', completes: 'job' },
      { usage: '--group <GROUP>', help: 'only this group of the job' },
      { usage: '--task <TASK>', help: 'only this task of the group' },
    ],
    load: async () => (await import('./policy.ts')).runAclPolicyApply,
  },
  {
    path: 'acl policy read',
    summary: 'Show an access policy with its rules.',
    examples: [{ line: 'reeve acl policy read deploy', says: 'as it was written' }],
    args: [POLICY],
    isRead: true,
    load: async () => (await import('./policy.ts')).runAclPolicyRead,
  },
  {
    path: 'acl policy self',
    summary: 'Show the access policies of the token that this command line uses.',
    examples: [{ line: 'reeve acl policy self', says: 'what may I do' }],
    isRead: true,
    load: async () => (await import('./policy.ts')).runAclPolicySelf,
  },
  {
    path: 'acl policy list',
    summary: 'List access policies.',
    examples: [{ line: 'reeve acl policy list', says: 'those that the token may see' }],
    isRead: true,
    load: async () => (await import('./policy.ts')).runAclPolicyList,
  },
  {
    path: 'acl policy delete',
    summary: 'Delete an access policy.',
    examples: [{ line: 'reeve acl policy delete deploy', says: 'tokens lose what it allowed' }],
    args: [POLICY],
    load: async () => (await import('./policy.ts')).runAclPolicyDelete,
  },
]

const roleCommands: readonly CommandSpec[] = [
  {
    path: 'acl role create',
    summary: 'Create a role: policies under one name.',
    examples: [
      { line: 'reeve acl role create --name dev --policy deploy --policy read', says: 'two' },
    ],
    flags: ROLE_FLAGS,
    isRead: true,
    load: async () => (await import('./role.ts')).runRoleCreate,
  },
  {
    path: 'acl role read',
    summary: 'Show a role.',
    examples: [{ line: 'reeve acl role read dev', says: 'its policies' }],
    args: [ROLE],
    isRead: true,
    load: async () => (await import('./role.ts')).runRoleRead,
  },
  {
    path: 'acl role update',
    summary: 'Change a role; what is not named stays.',
    examples: [{ line: 'reeve acl role update --policy read dev', says: 'its policies' }],
    args: [ROLE],
    flags: ROLE_FLAGS,
    isRead: true,
    load: async () => (await import('./role.ts')).runRoleUpdate,
  },
  {
    path: 'acl role delete',
    summary: 'Delete a role.',
    examples: [{ line: 'reeve acl role delete dev', says: 'tokens lose what it allowed' }],
    args: [ROLE],
    load: async () => (await import('./role.ts')).runRoleDelete,
  },
  {
    path: 'acl role list',
    summary: 'List roles.',
    examples: [{ line: 'reeve acl role list', says: 'those that the token may see' }],
    flags: [VERBOSE],
    isRead: true,
    load: async () => (await import('./role.ts')).runRoleList,
  },
]

export const aclCommands: readonly CommandSpec[] = [
  {
    path: 'acl bootstrap',
    summary: 'Make the first management token. Works once.',
    examples: [
      { line: 'reeve acl bootstrap', says: 'prints the token' },
      { line: 'reeve acl bootstrap secret.txt', says: 'with a secret (a UUID) of your own' },
    ],
    args: [
      {
        usage: '[FILE]',
        help: 'holds the secret to use, "-" for standard input',
        completes: 'file',
      },
    ],
    isRead: true,
    load: async () => (await import('./token.ts')).runAclBootstrap,
  },
  ...tokenCommands,
  ...policyCommands,
  ...roleCommands,
]
