import {
  ApiError,
  ConnectionError,
  governance,
  isGoneFromNode,
  v1Calls,
  v2Calls,
  type CalledRoute,
} from '@reeve/sdk'
import { EXIT_CODES } from './exit-code.ts'
import { CommandFailure, UsageError } from './failure.ts'
import type { ConnectionSettings } from './settings/settings.ts'

/** The last words of a command and its exit code. */
interface Told {
  readonly code: number
  readonly what: string
  /** What to do next. */
  readonly next: string
}

/** What the command line asked for that takes a right of its own. */
export interface ToldAbout {
  readonly overridesPolicies: boolean
}

/** Anything that ended a command; what is no answer to the person is thrown on. */
export function tell(
  thrown: unknown,
  settings: ConnectionSettings,
  about: ToldAbout = { overridesPolicies: false },
): Told {
  if (thrown instanceof UsageError) {
    return { code: EXIT_CODES.usage, what: thrown.message, next: '' }
  }
  if (thrown instanceof CommandFailure) {
    return { code: thrown.code, what: thrown.message, next: thrown.hint ?? '' }
  }
  if (thrown instanceof ConnectionError) return tellConnection(thrown, settings)
  if (thrown instanceof ApiError) return tellRefusal(thrown, settings, about)
  throw thrown
}

function tellConnection(error: ConnectionError, settings: ConnectionSettings): Told {
  const { address, sources } = settings
  const code = EXIT_CODES.unreachable
  if (error.reason === 'timeout') return { code, ...tellTimeout(error, settings) }
  if (error.reason !== 'unreachable') return { code, what: error.message, next: '' }
  if (/certificate/.test(error.message)) return { code, what: error.message, next: tlsHint(error) }
  if (SOMETHING_THERE.test(error.message)) return { code, what: error.message, next: '' }
  return {
    code,
    what: `No server answers at ${address} (from ${sources.address}).`,
    next: 'Start one with "reeve agent --dev", or name another with --address or REEVE_ADDR.',
  }
}

/** The client's advice is for programs: `timeoutMs` is no flag. */
function tellTimeout({ message }: ConnectionError, { region }: ConnectionSettings) {
  const what = message.replace(/ Try again, or raise timeoutMs\.$/, '')
  if (region === undefined)
    return { what, next: 'Try again, or name another server with --address or REEVE_ADDR.' }
  return {
    what: `Region "${region}" was asked for: ${what}`,
    next: `${REGION_AWAY_HINT} --address or REEVE_ADDR name a server of region "${region}" itself.`,
  }
}

/** The client says what was wrong with it, and what to try. */
const SOMETHING_THERE = /: (?:the server does not speak https|the connection was cut)\. /

function tlsHint({ message }: ConnectionError): string {
  return /asks for a certificate|certificate that was shown/.test(message)
    ? '--client-cert and --client-key, or REEVE_CLIENT_CERT and REEVE_CLIENT_KEY, name one.'
    : '--ca-cert or REEVE_CACERT name the authority that signed it, --tls-server-name or ' +
        'REEVE_TLS_SERVER_NAME the name it was signed for.'
}

function tellRefusal(error: ApiError, settings: ConnectionSettings, about: ToldAbout): Told {
  // Errors inside errors each end with empty lines.
  const text = error.text.trim().replaceAll(/\n{2,}/g, '\n')
  const what = text === '' ? error.message : text
  if (isAboutPath(error)) return tellPath(error, what)
  switch (error.status) {
    case 401:
      return { code: EXIT_CODES.denied, what, next: tokenHint(settings) }
    case 403:
      return isPolicyDenial(what)
        ? { code: EXIT_CODES.refusedByPolicy, what, next: policyHint(what) }
        : { code: EXIT_CODES.denied, what, next: deniedHint(error, settings, about) }
    case 404:
      return { code: EXIT_CODES.missing, what, next: missingHint(error, settings) }
    case 409:
      return { code: EXIT_CODES.conflict, what, next: conflictHint(what) }
    case 503:
      return REGION_AWAY.test(what)
        ? { code: EXIT_CODES.unreachable, what, next: REGION_AWAY_HINT }
        : { code: EXIT_CODES.failed, what, next: otherHint(what) }
    default:
      return { code: EXIT_CODES.failed, what, next: otherHint(what) }
  }
}

/** The server was reached and the region that should answer was not. */
const REGION_AWAY = /^(?:the authoritative )?region ".*" did not answer/

const REGION_AWAY_HINT = '"reeve server members" shows which regions this server knows.'

/** Of calls that read files of an allocation: what the node says of the path, not the token. */
function isAboutPath({ message, text }: ApiError): boolean {
  return message.includes(' /v1/client/fs/') && PATH_REFUSAL.test(text)
}

const PATH_REFUSAL = /^(?:open .*: |Path escapes|Reading secret file)/

function tellPath({ status, text }: ApiError, what: string): Told {
  const code = status === 404 ? EXIT_CODES.missing : EXIT_CODES.failed
  return { code, what, next: text.startsWith('Reading secret') ? SECRET_HINT : PATH_HINT }
}

const PATH_HINT =
  'Paths begin at the directory of the allocation: "reeve alloc fs ALLOC" shows what is in it.'

const SECRET_HINT =
  'No token opens what a task keeps for itself; "reeve alloc exec" reads it inside the task.'

/** Refusals that people meet most, though their status says little. */
function otherHint(said: string): string {
  if (/nonexistent namespace/.test(said)) return listHint('namespace list')
  if (/ACL support disabled/i.test(said)) return ACL_HINT
  if (said.includes('(PolicyOverrideComment)')) return 'Say why with --override-comment.'
  return FURTHER_HINTS.find(([about]) => about.test(said))?.[1] ?? ''
}

const FURTHER_HINTS = [
  [
    /^Dispatch .* meta(?:data)? keys: /,
    'Metadata is given with --meta KEY=VALUE; "reeve job inspect JOB" shows the keys of the job.',
  ],
  [
    /^Project contains \d+ (?:workspace|namespace)/,
    '"reeve project move" and "reeve project namespaces" take them out; --force lets all go.',
  ],
  [/unknown signal "/, 'Signals have names such as SIGHUP, SIGTERM or SIGUSR1.'],
  [/^Task not running$/, '"reeve alloc status ALLOC" shows what its tasks do.'],
  [
    /^ACL bootstrap already done/,
    'Who has that token makes others with "reeve acl token create"; "reeve login" keeps one.',
  ],
  [/^Query can't be blank$/, 'Give --query, such as data.jobs.deny.'],
] as const

const ACL_HINT =
  'This server asks nobody for a token, so it has no tokens, access policies and roles. ' +
  'Start it with --acl (acl.enabled), then run "reeve acl bootstrap".'

function conflictHint(said: string): string {
  if (/ is locked/.test(said)) return '"reeve workspace show WORKSPACE" tells by whom and why.'
  return said.endsWith(' is not locked')
    ? ''
    : 'Somebody changed it meanwhile: look again, then repeat the command.'
}

/** Choices: the denial of a policy is a 403 whose text lists the policies. */
function isPolicyDenial(text: string): boolean {
  return /is denied by (?:a policy|\d+ policies):/.test(text)
}

/** The server says when every denial may be passed over. */
function policyHint(said: string): string {
  if (said.includes('PolicyOverride passes over'))
    return 'Change it so that the policies pass, or repeat the command with --policy-override.'
  return said.includes('is denied by a policy:')
    ? 'Change it so that the policy passes: it cannot be overridden.'
    : 'Change it so that the policies pass: not all of these can be overridden.'
}

function deniedHint(error: ApiError, settings: ConnectionSettings, about: ToldAbout): string {
  if (settings.token === undefined) return tokenHint(settings)
  const needs = needsOf(error, about) ?? 'a right that this needs'
  // What would show the rights of the token has just been refused.
  if (needs === ANY_TOKEN) return tokenHint(settings)
  const isInNamespace = needs.includes('namespace:')
  const where = isInNamespace ? `, in namespace "${settings.namespace ?? 'default'}"` : ''
  const who = `The token (from ${settings.sources.token})`
  const shows = isGovernance(error) ? '' : ': "reeve acl token self" shows what it may do'
  // Servers do not tell a token that they do not know from one that may not.
  return `${who} lacks ${needs}${where}, or is not known there${shows}.`
}

/** What the contract says of the routes that any token may use. */
const ANY_TOKEN = 'any valid ACL token'

function isGovernance({ message }: ApiError): boolean {
  return message.includes(` ${governance.path}/`)
}

/** What the route of the call asks for; its message begins with method and path. */
function needsOf({ message }: ApiError, { overridesPolicies }: ToldAbout): string | undefined {
  const [, method, path] = /^([A-Z]+) (\/\S+): /.exec(message) ?? []
  const routes: readonly CalledRoute[] = [...Object.values(v1Calls), ...Object.values(v2Calls)]
  const route = routes.find((one) => one.path === path && one.methods.some((m) => m === method))
  // The rest tells what further fields of the request would need.
  const [needs = '', ...further] = route?.needs.split('; ') ?? []
  if (needs === '' || needs === 'none') return undefined
  const isOverride = overridesPolicies && further.some((one) => one.startsWith(OVERRIDE))
  return isOverride ? `${needs}, or ${OVERRIDE} for --policy-override` : needs
}

const OVERRIDE = 'namespace:policy-override'

function tokenHint({ token, sources }: ConnectionSettings): string {
  return token === undefined
    ? 'No token was sent: "reeve login" keeps one, --token or REEVE_TOKEN name one.'
    : `The token (from ${sources.token}) is not known there, or it has expired: ` +
        '"reeve login" takes another one.'
}

function missingHint(error: ApiError, settings: ConnectionSettings): string {
  // Governance does not tell what is not there from what the token may not see.
  if (isGovernance(error)) return 'It does not exist, or the token may not see it.'
  if (error.text.startsWith('No path to region')) return regionHint(settings)
  if (NO_VERSION.test(error.text)) return listHint('job history JOB')
  if (isGoneFromNode(error)) return REMOVED_HINT
  const list = OUTSIDE_NAMESPACES.find(([path]) => error.message.includes(` ${path}`))?.[1]
  if (list !== undefined) return listHint(list)
  const where = `Looked in namespace "${settings.namespace ?? 'default'}"`
  return `${where}: --namespace or REEVE_NAMESPACE choose another.`
}

/** The job is there, and what is missing is one of its versions or their names. */
const NO_VERSION = /(?:^| at )version \d+ not found$|^tag ".*" not found$/

const REMOVED_HINT =
  'Its node has removed its files, as it does with ended allocations (client.gc_… in its ' +
  'configuration), or has not begun with it.'

/** Things that lie in no namespace, by their path: which command lists them. The longer first. */
const OUTSIDE_NAMESPACES = [
  ['/v1/node/pool/', 'node pool list'],
  ['/v1/node/', 'node status'],
  ['/v1/namespace/', 'namespace list'],
  ['/v1/acl/policy/', 'acl policy list'],
  ['/v1/acl/role/', 'acl role list'],
  ['/v1/acl/token/', 'acl token list'],
] as const

function listHint(command: string): string {
  return `See which there are with "reeve ${command}".`
}

/** Only the command line, the environment and a job file name regions. */
function regionHint({ region, sources }: ConnectionSettings): string {
  return region === undefined
    ? 'The job file names the region; --region sends the job to another one. ' +
        '"reeve server members" shows which regions this server knows.'
    : `Region "${region}" comes from ${sources.region}; without it the server takes its own.`
}
