import { quoteShellArg } from './curl-line.ts'

const RUN_EXAMPLE_JOB = 'reeve job init && reeve job run example.hcl'
const ACL_POLICY = `echo 'namespace "default" { policy = "read" }' | reeve acl policy apply readers -`

/** The first command that an empty page suggests. Each works unchanged on a fresh server. */
export const FIRST_COMMANDS = {
  jobs: RUN_EXAMPLE_JOB,
  allocations: RUN_EXAMPLE_JOB,
  deployments: RUN_EXAMPLE_JOB,
  variables: 'reeve var put apps/web/db user=web password=secret',
  namespaces: 'reeve namespace apply --description "Team web" web',
  nodePools: 'reeve node pool apply --description "With graphics cards" gpu',
  aclPolicies: ACL_POLICY,
  aclRoles: `${ACL_POLICY} && reeve acl role create --name dev --policy readers`,
  aclTokens: `${ACL_POLICY} && reeve acl token create --name ci --policy readers`,
  organizations: 'reeve org create acme --email ops@acme.example',
  projects: 'reeve project create payments',
  workspaces: 'reeve workspace create shop-front',
  teams: 'reeve team create platform',
  policies:
    "echo 'main = rule { job.priority <= 80 }' > limits.native && reeve policy create limits.native",
  policySets: 'reeve policy-set create guards --jobs-of default',
} as const

/** Starts a node of the server that these pages come from. */
export function nodeCommand(address: string): string {
  return `reeve agent --client --join ${quoteShellArg(address)} --data-dir ./reeve-node`
}

/** Returns a command with the flag of its namespace. */
export function namespacedCommand(namespace: string, ...args: readonly string[]): string {
  const namespaceArgs = namespace === 'default' ? [] : ['--namespace', namespace]
  return ['reeve', ...[...args, ...namespaceArgs].map(quoteShellArg)].join(' ')
}
