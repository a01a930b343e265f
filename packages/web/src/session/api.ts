import { createClient, type Client, ApiError, isLoopback } from '@reeve/sdk'

/** The API client: the SDK with the tokens of this tab. */
export type Api = Client

export function createApi(tokens: Tokens): Api {
  const address = window.location.origin
  const workload = createClient({ address, token: tokens.workload, client: 'web' })
  const governance = createClient({
    address,
    token: tokens.governance ?? tokens.workload,
    client: 'web',
  })
  return { ...workload, v2: governance.v2 }
}

/**
 * The tokens of the session, in the session storage of the tab: deleted when it is closed, and
 * never sent automatically. The two APIs may need different ones.
 */
export interface Tokens {
  readonly workload: string | undefined
  readonly governance: string | undefined
}

const KEY = 'reeve.tokens'
const NONE: Tokens = { workload: undefined, governance: undefined }

export function readTokens(): Tokens {
  const text = sessionStorage.getItem(KEY)
  if (text === null) return NONE
  try {
    const value: unknown = JSON.parse(text)
    return { workload: textAt(value, 'workload'), governance: textAt(value, 'governance') }
  } catch (error) {
    if (error instanceof SyntaxError) return NONE
    throw error
  }
}

export function writeTokens(tokens: Tokens): void {
  if (tokens.workload === undefined && tokens.governance === undefined)
    sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, JSON.stringify(tokens))
}

function textAt(value: unknown, name: string): string | undefined {
  const text: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : ''
  return typeof text === 'string' && text !== '' ? text : undefined
}

interface TokenLookup {
  readonly address: string
  readonly secret: string
  /** With ACLs disabled, the workload API has no tokens and is not called. */
  readonly isAclEnabled: boolean
}

/**
 * Finds the APIs that accept a secret: both for a management token, one for other tokens. Throws
 * the error of the server if neither does.
 */
export async function findTokens(lookup: TokenLookup): Promise<Partial<Tokens>> {
  const { address, secret, isAclEnabled } = lookup
  const client = createClient({ address, token: secret })
  const [workload, governance] = await Promise.allSettled([
    isAclEnabled ? client.v1.readOwnAclToken() : Promise.reject(new Error('access control is off')),
    client.v2.readAccount(),
  ])
  const isKnown = {
    workload: workload.status === 'fulfilled',
    governance: governance.status === 'fulfilled',
  }
  if (isKnown.workload || isKnown.governance)
    return {
      ...(isKnown.workload ? { workload: secret } : {}),
      ...(isKnown.governance ? { governance: secret } : {}),
    }
  const failures = [workload, governance].flatMap((one): readonly unknown[] =>
    one.status === 'rejected' ? [one.reason] : [],
  )
  // With ACLs disabled, only the governance API has responded.
  const rejection = failures.find((error) => error instanceof ApiError) ?? failures[0]
  throw rejection instanceof Error ? rejection : new Error('the server does not know this token')
}

export async function exchangeOneTimeSecret(api: Api, secret: string): Promise<Partial<Tokens>> {
  const { data } = await api.v1.exchangeOneTimeToken({ body: { OneTimeSecretID: secret } })
  const { SecretID, Type } = data.Token
  return Type === 'management'
    ? { workload: SecretID, governance: SecretID }
    : { workload: SecretID }
}

/**
 * Returns the token of the sign-in link that a development server prints: `/ui/sign-in#token=…`.
 * The fragment never leaves the browser, so no server, log or referrer contains it. Such links work
 * on the local machine only, which prevents their use for production servers.
 */
export function localSecretIn(location: Pick<Location, 'hostname' | 'hash'>): string | undefined {
  if (!isLoopback(location.hostname)) return undefined
  const secret = new URLSearchParams(location.hash.slice(1)).get('token')
  return secret === null || secret === '' ? undefined : secret
}
