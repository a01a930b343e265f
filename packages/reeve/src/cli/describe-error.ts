import {
  ApiError,
  ConnectionError,
  governance,
  v1RouteTable,
  v2RouteTable,
  type RouteInfo,
} from '@reeve/sdk'
import { CommandError, EXIT_CODES, UsageError } from './errors.ts'
import type { ConnectionSettings } from './settings/settings.ts'

/** How a command that failed ends. */
interface ErrorReport {
  readonly exitCode: number
  readonly message: string
  /** What to do next; empty when there is nothing to suggest. */
  readonly hint: string
}

/** What the command line asked for that needs a capability of its own. */
interface ErrorContext {
  readonly overridesPolicies: boolean
}

/** Maps an error to its message, hint and exit code. Unknown errors are rethrown. */
export function describeError(
  thrown: unknown,
  settings: ConnectionSettings,
  context: ErrorContext = { overridesPolicies: false },
): ErrorReport {
  if (thrown instanceof UsageError) {
    return { exitCode: EXIT_CODES.usage, message: thrown.message, hint: '' }
  }
  if (thrown instanceof CommandError) {
    return { exitCode: thrown.code, message: thrown.message, hint: thrown.hint ?? '' }
  }
  if (thrown instanceof ConnectionError) return describeConnectionError(thrown, settings)
  if (thrown instanceof ApiError) return describeApiError(thrown, settings, context)
  throw thrown
}

function describeConnectionError(
  error: ConnectionError,
  settings: ConnectionSettings,
): ErrorReport {
  const { address, sources } = settings
  const { message, reason } = error
  const exitCode = EXIT_CODES.unreachable
  switch (reason) {
    case 'timeout':
      return { exitCode, ...describeTimeout(error, settings) }
    case 'untrusted':
      return { exitCode, message, hint: UNTRUSTED_HINT }
    case 'certificate-rejected':
      return { exitCode, message, hint: CLIENT_CERTIFICATE_HINT }
    case 'unreachable':
      return {
        exitCode,
        message: `Cannot connect to the server at ${address} (from ${sources.address}).`,
        hint: 'Start one with "reeve agent --dev", or set another address with --address or REEVE_ADDR.',
      }
    default:
      return { exitCode, message, hint: '' }
  }
}

const UNTRUSTED_HINT =
  'Set --ca-cert or REEVE_CACERT to the authority that signed it, --tls-server-name or ' +
  'REEVE_TLS_SERVER_NAME to the name it was issued for.'

const CLIENT_CERTIFICATE_HINT =
  'Set one with --client-cert and --client-key, or REEVE_CLIENT_CERT and REEVE_CLIENT_KEY.'

/** The client suggests `timeoutMs`, which is an option for programs and no flag. */
function describeTimeout(
  error: ConnectionError,
  { region }: ConnectionSettings,
): Omit<ErrorReport, 'exitCode'> {
  const message = error.message.replace(/ Try again, or raise timeoutMs\.$/, '')
  if (region === undefined)
    return { message, hint: 'Retry, or set another server with --address or REEVE_ADDR.' }
  return {
    message: `Request for region "${region}": ${message}`,
    hint: `${REGION_AWAY_HINT} --address or REEVE_ADDR can name a server of region "${region}".`,
  }
}

function describeApiError(
  error: ApiError,
  settings: ConnectionSettings,
  context: ErrorContext,
): ErrorReport {
  // Nested errors each end with empty lines.
  const text = error.text.trim().replaceAll(/\n{2,}/g, '\n')
  const message = text === '' ? error.message : text
  const hint = hintFor(error, settings, context)
  return { exitCode: exitCodeOf(error), message, hint }
}

/** Exit codes of errors whose status alone does not choose one. */
const EXIT_CODE_OF: Readonly<Record<string, number>> = {
  'file-forbidden': EXIT_CODES.failed,
  'path-outside-allocation': EXIT_CODES.failed,
  'policy-denied': EXIT_CODES.refusedByPolicy,
  'policy-denied-overridable': EXIT_CODES.refusedByPolicy,
  'region-in-doubt': EXIT_CODES.unreachable,
  'region-unreached': EXIT_CODES.unreachable,
  'secret-file': EXIT_CODES.failed,
}

const EXIT_CODE_OF_STATUS: Readonly<Record<number, number>> = {
  401: EXIT_CODES.denied,
  403: EXIT_CODES.denied,
  404: EXIT_CODES.missing,
  409: EXIT_CODES.conflict,
}

function exitCodeOf({ code, status }: ApiError): number {
  return EXIT_CODE_OF[code ?? ''] ?? EXIT_CODE_OF_STATUS[status] ?? EXIT_CODES.failed
}

function hintFor(error: ApiError, settings: ConnectionSettings, context: ErrorContext): string {
  const { code = '', status } = error
  if (code === 'region-unknown') return regionHint(settings)
  if (error.detailsAt('/data/attributes/query').length > 0)
    return 'Set --query, such as data.jobs.deny.'
  const hint = HINTS[code]
  if (hint !== undefined) return hint
  switch (status) {
    case 401:
      return tokenHint(settings)
    case 403:
      return permissionHint(error, settings, context)
    case 404:
      return notFoundHint(error, settings)
    case 409:
      // A conflict of /v2 states its reason.
      if (code === 'conflict') return ''
      return 'It was modified in the meantime. Check it and retry.'
    default:
      return ''
  }
}

const REGION_AWAY_HINT = '"reeve server members" lists the regions that this server knows.'

const PATH_HINT =
  'Paths are relative to the directory of the allocation: "reeve alloc fs ALLOC" lists it.'

/** What to do about errors that have one remedy, by their code. */
const HINTS: Readonly<Record<string, string>> = {
  'acl-disabled':
    'ACLs are disabled on this server. Start it with --acl (acl.enabled), then run ' +
    '"reeve acl bootstrap".',
  'allocation-not-on-node':
    'Its node removed the files of the ended allocation (client.gc_… in its configuration), or ' +
    'has not started it yet.',
  'bootstrap-done':
    'Whoever has the bootstrap token can create others with "reeve acl token create"; ' +
    '"reeve login" stores one.',
  'dispatch-meta-invalid':
    'Set metadata with --meta KEY=VALUE; "reeve job inspect JOB" shows the keys that the job takes.',
  'file-forbidden': PATH_HINT,
  'file-not-found': PATH_HINT,
  'file-unreadable': PATH_HINT,
  'job-version-not-found': listHint('job history JOB'),
  'override-comment-required': 'Set a comment with --override-comment.',
  'path-outside-allocation': PATH_HINT,
  'policy-denied': 'This denial cannot be overridden; change the job so that the policies pass.',
  'policy-denied-overridable':
    'Change the job so that the policies pass, or repeat the command with --policy-override.',
  'project-not-empty':
    'Take them out with "reeve project move" and "reeve project namespaces", or delete all of it ' +
    'with --force.',
  'region-in-doubt': REGION_AWAY_HINT,
  'region-unreached': REGION_AWAY_HINT,
  'secret-file':
    'Secret files are not readable through the API; use "reeve alloc exec" to read them in the task.',
  'signal-unknown': 'Signals have names such as SIGHUP, SIGTERM or SIGUSR1.',
  'task-not-running': '"reeve alloc status ALLOC" shows the state of its tasks.',
  'unknown-namespace': listHint('namespace list'),
  'workspace-locked': '"reeve workspace show WORKSPACE" shows who locked it and why.',
  'workspace-not-locked': '',
}

function permissionHint(
  error: ApiError,
  settings: ConnectionSettings,
  context: ErrorContext,
): string {
  if (settings.token === undefined) return tokenHint(settings)
  const needs = capabilitiesFor(error, context) ?? 'a capability that this needs'
  // The command that would show the capabilities of the token has just been denied.
  if (needs === ANY_TOKEN) return tokenHint(settings)
  const isInNamespace = needs.includes('namespace:')
  const where = isInNamespace ? ` in namespace "${settings.namespace ?? 'default'}"` : ''
  const selfHint = isGovernance(error) ? '' : ' "reeve acl token self" shows what it may do.'
  // Servers do not tell an unknown token from one without the capability.
  return `The token (from ${settings.sources.token}) lacks ${needs}${where}, or is unknown.${selfHint}`
}

/** Permission text of routes in the contract that any token may use. */
const ANY_TOKEN = 'any valid ACL token'

function isGovernance({ route }: ApiError): boolean {
  return route.path.startsWith(`${governance.path}/`)
}

/** The capabilities that the route of the failed call needs. */
function capabilitiesFor(
  { route: { method, path } }: ApiError,
  { overridesPolicies }: ErrorContext,
): string | undefined {
  const routes: readonly RouteInfo[] = [
    ...Object.values(v1RouteTable),
    ...Object.values(v2RouteTable),
  ]
  const route = routes.find((one) => one.path === path && one.methods.includes(method))
  // After the first semicolon the contract lists what further fields of the request would need.
  const [needs = '', ...further] = route?.needs.split('; ') ?? []
  if (needs === '' || needs === 'none') return undefined
  const isOverride = overridesPolicies && further.some((one) => one.startsWith(OVERRIDE))
  return isOverride ? `${needs}, or ${OVERRIDE} for --policy-override` : needs
}

const OVERRIDE = 'namespace:policy-override'

function tokenHint({ token, sources }: ConnectionSettings): string {
  return token === undefined
    ? 'No token was sent. Run "reeve login", or set --token or REEVE_TOKEN.'
    : `The token (from ${sources.token}) is unknown or has expired. Run "reeve login" to store another.`
}

function notFoundHint(error: ApiError, settings: ConnectionSettings): string {
  // Governance does not tell what does not exist from what the token may not see.
  if (isGovernance(error)) return 'It does not exist, or the token may not see it.'
  const list = OUTSIDE_NAMESPACES.find(([path]) => error.route.path.startsWith(path))?.[1]
  if (list !== undefined) return listHint(list)
  const where = `Searched namespace "${settings.namespace ?? 'default'}"`
  return `${where}; set another with --namespace or REEVE_NAMESPACE.`
}

/** Commands that list resources outside of namespaces, by their path. Longer paths come first. */
const OUTSIDE_NAMESPACES = [
  ['/v1/node/pool/', 'node pool list'],
  ['/v1/node/', 'node status'],
  ['/v1/namespace/', 'namespace list'],
  ['/v1/acl/policy/', 'acl policy list'],
  ['/v1/acl/role/', 'acl role list'],
  ['/v1/acl/token/', 'acl token list'],
] as const

function listHint(command: string): string {
  return `"reeve ${command}" lists those that exist.`
}

/** Regions come from the command line, the environment or a job file. */
function regionHint({ region, sources }: ConnectionSettings): string {
  return region === undefined
    ? 'The job file sets the region; override it with --region. ' + REGION_AWAY_HINT
    : `Region "${region}" was set by ${sources.region}; without it the server uses its own.`
}
