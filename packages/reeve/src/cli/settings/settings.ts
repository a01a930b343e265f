import type { Flags } from '../flags.ts'
import type { Environment } from '../host.ts'
import type { SavedLogin } from './login-file.ts'

const DEFAULT_ADDRESS = 'http://127.0.0.1:4646'

/** The source of a region that neither the command line nor the environment names. */
export const FROM_JOB_FILE = 'the job file'

/** Which server to ask, and as whom. */
export interface ConnectionSettings {
  readonly address: string
  readonly token: string | undefined
  /** Undefined leaves it to the server: `default`. */
  readonly namespace: string | undefined
  readonly region: string | undefined
  /** Where each came from, for errors that should say so. */
  readonly sources: Readonly<Record<'address' | 'token' | 'region', string>>
}

/** What this machine knows of servers and tokens. */
export interface KnownTokens {
  readonly login: SavedLogin | undefined
  /** By the address of the agent. */
  readonly devTokens: Readonly<Record<string, string>>
}

/** Flags win over the environment, the environment over what `login` keeps. */
export function connectionSettings(
  flags: Flags,
  environment: Environment,
  saved: KnownTokens,
): ConnectionSettings {
  const address = firstOf([
    ['--address', flags.text('address')],
    ['REEVE_ADDR', environment['REEVE_ADDR']],
    ['"reeve login"', saved.login?.address],
  ]) ?? { from: 'the default', value: DEFAULT_ADDRESS }
  // A token is kept for the server that gave it and never sent to another one.
  const token = firstOf([
    ['--token', flags.text('token')],
    ['REEVE_TOKEN', environment['REEVE_TOKEN']],
    ['"reeve login"', saved.login?.tokens[address.value]],
    ['the dev agent of this machine', saved.devTokens[address.value]],
  ])
  const region = firstOf([
    ['--region', flags.text('region')],
    ['REEVE_REGION', environment['REEVE_REGION']],
  ])
  return {
    address: address.value,
    token: token?.value,
    namespace: nonEmpty(flags.text('namespace')) ?? nonEmpty(environment['REEVE_NAMESPACE']),
    region: region?.value,
    sources: {
      address: address.from,
      token: token?.from ?? 'nowhere',
      region: region?.from ?? 'nowhere',
    },
  }
}

interface Found {
  readonly from: string
  readonly value: string
}

type Candidate = readonly [from: string, value: string | undefined]

function firstOf(candidates: readonly Candidate[]): Found | undefined {
  const found = candidates.map(([from, value]) => ({ from, value: nonEmpty(value) }))
  return found.find((one): one is Found => one.value !== undefined)
}

/** An empty variable is as good as none. */
function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}
