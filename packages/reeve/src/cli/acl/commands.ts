import type { ArgumentSpec, CommandSpec, FlagSpec } from '../command.ts'

const ACCESSOR: ArgumentSpec = {
  usage: '<ACCESSOR>',
  help: 'the accessor ID of a token, or a prefix of it',
}
const POLICY: ArgumentSpec = { usage: '<NAME>', help: 'the name of a policy' }
const ROLE: ArgumentSpec = { usage: '<ROLE>', help: 'the name or ID of a role' }
const VERBOSE: FlagSpec = { usage: '-v, --verbose', help: 'show full IDs' }
const TOKEN_FLAGS: readonly FlagSpec[] = [
  { usage: '--name <NAME>', help: 'description' },
  { usage: '--type <TYPE>', help: '"client", or "management" for full access' },
  { usage: '--policy <NAME>', help: 'a policy to attach', isRepeated: true },
  { usage: '--role <ROLE>', help: 'a role to attach, by name or ID', isRepeated: true },
]
const ROLE_FLAGS: readonly FlagSpec[] = [
  { usage: '--name <NAME>', help: 'name' },
  { usage: '--description <TEXT>', help: 'description' },
  { usage: '--policy <NAME>', help: 'a policy to attach', isRepeated: true },
]

const tokenCommands: readonly CommandSpec[] = [
  {
    path: 'acl token create',
    summary: 'Create a token.',
    examples: [
      { line: 'reeve acl token create --name ci --policy deploy', says: 'for a pipeline' },
      {
        line: 'reeve acl token create --type management --name ops --ttl 8h',
        says: 'a management token that expires after eight hours',
      },
    ],
    flags: [
      ...TOKEN_FLAGS,
      { usage: '--global', help: 'replicate the token to every region' },
      { usage: '--ttl <DURATION>', help: 'time to live, such as 8h' },
    ],
    isRead: true,
    load: async () => (await import('./acl.ts')).runTokenCreate,
  },
  {
    path: 'acl token read',
    summary: 'Show a token.',
    examples: [{ line: 'reeve acl token read 8a7f', says: 'by a prefix of its accessor ID' }],
    args: [ACCESSOR],
    isRead: true,
    load: async () => (await import('./acl.ts')).runTokenRead,
  },
  {
    path: 'acl token self',
    summary: 'Show the token of the command line.',
    examples: [{ line: 'reeve acl token self', says: 'its type, policies and roles' }],
    isRead: true,
    load: async () => (await import('./acl.ts')).runTokenSelf,
  },
  {
    path: 'acl token update',
    summary: 'Update a token; fields that are not given keep their values.',
    examples: [
      {
        line: 'reeve acl token update --policy deploy --policy read 8a7f',
        says: 'replace its policies',
      },
    ],
    args: [ACCESSOR],
    flags: TOKEN_FLAGS,
    isRead: true,
    load: async () => (await import('./acl.ts')).runTokenUpdate,
  },
  {
    path: 'acl token delete',
    summary: 'Delete a token.',
    examples: [{ line: 'reeve acl token delete 8a7f', says: 'the token stops working at once' }],
    args: [ACCESSOR],
    load: async () => (await import('./acl.ts')).runTokenDelete,
  },
  {
    path: 'acl token list',
    summary: 'List tokens, without their secrets.',
    examples: [
      { line: 'reeve acl token list', says: 'oldest first' },
      {
        line: `reeve acl token list --filter 'Type == "management"'`,
        says: 'tokens with full access',
      },
    ],
    flags: [
      { usage: '--global', help: 'only tokens that are replicated to every region' },
      { usage: '--filter <EXPRESSION>', help: 'only entries that match this expression' },
      VERBOSE,
    ],
    isRead: true,
    load: async () => (await import('./acl.ts')).runTokenList,
  },
]

const policyCommands: readonly CommandSpec[] = [
  {
    path: 'acl policy apply',
    summary: 'Create or update an ACL policy.',
    examples: [
      {
        line: 'reeve acl policy apply --description "Deploys" deploy deploy.hcl',
        says: 'from a file',
      },
      { line: 'reeve acl policy apply deploy -', says: 'rules from standard input' },
      {
        line: 'reeve acl policy apply --job web web-secrets rules.hcl',
        says: 'for the workload identity of job "web"',
      },
    ],
    args: [
      POLICY,
      {
        usage: '<FILE>',
        help: 'a file with rules; "-" reads standard input',
        completionKind: 'file',
      },
    ],
    flags: [
      { usage: '--description <TEXT>', help: 'description' },
      {
        usage: '--job <JOB>',
        help: 'attach the policy to the workload identity of this job',
        completionKind: 'job',
      },
      { usage: '--group <GROUP>', help: 'only this group of the job' },
      { usage: '--task <TASK>', help: 'only this task of the group' },
    ],
    load: async () => (await import('./acl.ts')).runAclPolicyApply,
  },
  {
    path: 'acl policy read',
    summary: 'Show an ACL policy and its rules.',
    examples: [
      { line: 'reeve acl policy read deploy', says: 'with the rules as they were submitted' },
    ],
    args: [POLICY],
    isRead: true,
    load: async () => (await import('./acl.ts')).runAclPolicyRead,
  },
  {
    path: 'acl policy self',
    summary: 'Show the ACL policies of the token of the command line.',
    examples: [{ line: 'reeve acl policy self', says: 'what the token allows' }],
    isRead: true,
    load: async () => (await import('./acl.ts')).runAclPolicySelf,
  },
  {
    path: 'acl policy list',
    summary: 'List ACL policies.',
    examples: [{ line: 'reeve acl policy list', says: 'all that the token may read' }],
    isRead: true,
    load: async () => (await import('./acl.ts')).runAclPolicyList,
  },
  {
    path: 'acl policy delete',
    summary: 'Delete an ACL policy.',
    examples: [
      { line: 'reeve acl policy delete deploy', says: 'tokens lose the permissions it granted' },
    ],
    args: [POLICY],
    load: async () => (await import('./acl.ts')).runAclPolicyDelete,
  },
]

const roleCommands: readonly CommandSpec[] = [
  {
    path: 'acl role create',
    summary: 'Create a role, a named set of policies.',
    examples: [
      {
        line: 'reeve acl role create --name dev --policy deploy --policy read',
        says: 'with two policies',
      },
    ],
    flags: ROLE_FLAGS,
    isRead: true,
    load: async () => (await import('./acl.ts')).runRoleCreate,
  },
  {
    path: 'acl role read',
    summary: 'Show a role.',
    examples: [{ line: 'reeve acl role read dev', says: 'replace its policies' }],
    args: [ROLE],
    isRead: true,
    load: async () => (await import('./acl.ts')).runRoleRead,
  },
  {
    path: 'acl role update',
    summary: 'Update a role; fields that are not given keep their values.',
    examples: [{ line: 'reeve acl role update --policy read dev', says: 'replace its policies' }],
    args: [ROLE],
    flags: ROLE_FLAGS,
    isRead: true,
    load: async () => (await import('./acl.ts')).runRoleUpdate,
  },
  {
    path: 'acl role delete',
    summary: 'Delete a role.',
    examples: [
      { line: 'reeve acl role delete dev', says: 'tokens lose the permissions it granted' },
    ],
    args: [ROLE],
    load: async () => (await import('./acl.ts')).runRoleDelete,
  },
  {
    path: 'acl role list',
    summary: 'List roles.',
    examples: [{ line: 'reeve acl role list', says: 'all that the token may read' }],
    flags: [VERBOSE],
    isRead: true,
    load: async () => (await import('./acl.ts')).runRoleList,
  },
]

export const aclCommands: readonly CommandSpec[] = [
  {
    path: 'acl bootstrap',
    summary: 'Create the initial management token. Works once.',
    examples: [
      { line: 'reeve acl bootstrap', says: 'prints the token' },
      { line: 'reeve acl bootstrap secret.txt', says: 'with your own secret, a UUID' },
    ],
    args: [
      {
        usage: '[FILE]',
        help: 'a file with the secret to use; "-" reads standard input',
        completionKind: 'file',
      },
    ],
    isRead: true,
    load: async () => (await import('./acl.ts')).runAclBootstrap,
  },
  {
    path: 'acl can',
    summary: 'Check whether the token has a capability.',
    details:
      'Prints yes or no; no exits with 5. docs/reference/capabilities.md lists the capabilities and ' +
      'the requests that they allow.',
    examples: [
      { line: 'reeve acl can submit-job', says: 'in the current namespace' },
      { line: 'reeve acl can --namespace prod read-logs', says: 'in another namespace' },
      { line: 'reeve acl can node:write', says: 'a capability for nodes, agents or the operator' },
      { line: 'reeve acl can variables:read app/db', says: 'for a variable, a pool or a volume' },
    ],
    args: [
      { usage: '<CAPABILITY>', help: 'submit-job, node:write, management, ...' },
      { usage: '[NAME]', help: 'the node pool, host volume, or path of the variable' },
    ],
    isRead: true,
    load: async () => (await import('./acl.ts')).runAclCan,
  },
  ...tokenCommands,
  ...policyCommands,
  ...roleCommands,
]
