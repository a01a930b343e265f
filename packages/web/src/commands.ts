import { HEADERS } from '@reeve/contract'

/** A request to show as a curl command. */
export interface ApiCall {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters filled in and encoded: `/v1/job/web`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
}

interface CurlOptions {
  readonly address: string
  readonly hasToken: boolean
}

/** Formats a curl command. It refers to `$REEVE_TOKEN`, because commands are shared. */
export function formatCurl(call: ApiCall, { address, hasToken }: CurlOptions): string {
  const { method = 'GET', path, query = {}, body } = call
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '') search.set(name, String(value))
  const url = `${address}${path}${search.size === 0 ? '' : `?${search.toString()}`}`
  const isGovernance = path.startsWith('/api/v2')
  const header = isGovernance
    ? 'Authorization: Bearer $REEVE_TOKEN'
    : `${HEADERS.token}: $REEVE_TOKEN`
  return [
    'curl',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...(hasToken || isGovernance ? ['-H', `"${header}"`] : []),
    ...(isGovernance && body !== undefined
      ? ['-H', quoteShellArg('Content-Type: application/vnd.api+json')]
      : []),
    quoteShellArg(url),
    ...(body === undefined ? [] : ['-d', quoteShellArg(JSON.stringify(body))]),
  ].join(' ')
}

/** Quotes a shell argument with single quotes if necessary. */
export function quoteShellArg(text: string): string {
  return /^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

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

/** Splits a command line at spaces outside quotes. The command runs without a shell. */
export function splitCommand(line: string): string[] {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []
  return words.map((word) => word.replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'))
}
