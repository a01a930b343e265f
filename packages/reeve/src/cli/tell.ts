import { ApiError, ConnectionError } from '@reeve/sdk'
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

/** Anything that ended a command; what is no answer to the person is thrown on. */
export function tell(thrown: unknown, settings: ConnectionSettings): Told {
  if (thrown instanceof UsageError) {
    return { code: EXIT_CODES.usage, what: thrown.message, next: '' }
  }
  if (thrown instanceof CommandFailure) {
    return { code: thrown.code, what: thrown.message, next: thrown.hint ?? '' }
  }
  if (thrown instanceof ConnectionError) return tellConnection(thrown, settings)
  if (thrown instanceof ApiError) return tellRefusal(thrown, settings)
  throw thrown
}

function tellConnection(error: ConnectionError, { address, sources }: ConnectionSettings): Told {
  const code = EXIT_CODES.unreachable
  if (error.reason !== 'unreachable') return { code, what: error.message, next: '' }
  return {
    code,
    what: `No server answers at ${address} (from ${sources.address}).`,
    next: 'Start one with "reeve agent --dev", or name another with --address or REEVE_ADDR.',
  }
}

function tellRefusal(error: ApiError, settings: ConnectionSettings): Told {
  const what = error.text.trim() === '' ? error.message : error.text.trim()
  switch (error.status) {
    case 401:
      return { code: EXIT_CODES.denied, what, next: tokenHint(settings) }
    case 403:
      return isPolicyDenial(what)
        ? { code: EXIT_CODES.refusedByPolicy, what, next: POLICY_HINT }
        : { code: EXIT_CODES.denied, what, next: deniedHint(what, settings) }
    case 404:
      return { code: EXIT_CODES.missing, what, next: missingHint(settings) }
    case 409:
      return { code: EXIT_CODES.conflict, what, next: CONFLICT_HINT }
    default:
      return { code: EXIT_CODES.failed, what, next: '' }
  }
}

const POLICY_HINT =
  'Change it so that the policy passes. Soft-mandatory levels give way to --policy-override.'
const CONFLICT_HINT = 'Somebody changed it meanwhile: look again, then repeat the command.'

/** Choices: the denial of a policy is a 403 whose text lists the policies. */
function isPolicyDenial(text: string): boolean {
  return /\bpolicy "/.test(text)
}

function deniedHint(said: string, settings: ConnectionSettings): string {
  if (settings.token === undefined || /token not found/i.test(said)) return tokenHint(settings)
  const where = settings.namespace ?? 'default'
  return (
    `The token (from ${settings.sources.token}) lacks a capability for this in namespace ` +
    `"${where}": "reeve acl token self" shows what it may do.`
  )
}

function tokenHint({ token, sources }: ConnectionSettings): string {
  return token === undefined
    ? 'No token was sent: "reeve login" keeps one, --token or REEVE_TOKEN name one.'
    : `The token (from ${sources.token}) is not known there, or it has expired: ` +
        '"reeve login" takes another one.'
}

function missingHint({ namespace }: ConnectionSettings): string {
  const where = `Looked in namespace "${namespace ?? 'default'}"`
  return `${where}: --namespace or REEVE_NAMESPACE choose another.`
}
