import { ApiError, ConnectionError, createClient, type Client } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { inputBytes } from '../input.ts'
import { readLogin, writeLogin } from '../settings/login-file.ts'
import { secretLine } from './secret-line.ts'

const TOKEN_BYTES_MAX = 4096

/** `login [ADDRESS] [-]`: tries a token and keeps it. */
export async function runLogin(invocation: Invocation): Promise<number> {
  const { args, host, output, settings } = invocation
  const isPiped = args.at(-1) === '-'
  const [given, extra] = isPiped ? args.slice(0, -1) : args
  // A secret among the arguments would be seen by every user of the machine: it is not taken.
  if (extra !== undefined)
    throw new UsageError('A token cannot be an argument: pipe it in and add "-".')
  const address = given === undefined ? settings.address : addressOf(given)
  const token = await tokenOf(invocation, { isPiped, address })
  const who = await whoIs(createClient({ address, token, ...invocation.ways }))
  const saved = await readLogin(host.environment)
  const tokens = { ...saved?.tokens, [address]: token }
  const file = await writeLogin(host.environment, { address, tokens })
  output.say(`Signed in at ${address} as ${who}.`)
  output.say(`The token is saved in ${file}; "reeve logout" removes it.`)
  return EXIT_CODES.ok
}

function addressOf(text: string): string {
  const address = /^https?:\/\//.test(text) ? text : `http://${text}`
  if (!URL.canParse(address)) {
    throw new UsageError(`"${text}" is not an address; use one such as http://127.0.0.1:4646.`)
  }
  return address.replace(/\/+$/, '')
}

interface TokenQuestion {
  readonly isPiped: boolean
  readonly address: string
}

async function tokenOf(
  invocation: Invocation,
  { isPiped, address }: TokenQuestion,
): Promise<string> {
  const { flags, host } = invocation
  const text = isPiped
    ? new TextDecoder().decode(await inputBytes(invocation, TOKEN_BYTES_MAX))
    : (flags.text('token') ?? (await asked(invocation, address)))
  const token = text.trim()
  if (token === '') throw new UsageError('No token was given.')
  if (/\s/.test(token)) throw new UsageError('A token has no spaces or line breaks in it.')
  if (host.environment['REEVE_TOKEN']) {
    invocation.output.note('REEVE_TOKEN is set, and takes precedence over the saved token.')
  }
  return token
}

async function asked({ host, signal }: Invocation, address: string): Promise<string> {
  if (host.input.isTTY !== true) {
    throw new UsageError(
      'Cannot ask for a token, because standard input is not a terminal: pipe it in and add "-".',
    )
  }
  host.err(`Token for ${address}: `)
  const line = await secretLine(host.input, signal)
  host.err('\n')
  return line
}

/** The name that goes with a token; either API may know it. */
async function whoIs(client: Client): Promise<string> {
  try {
    const { data } = await client.v1.readOwnAclToken()
    return `"${data.Name}" (${data.Type} token)`
  } catch (thrown) {
    if (thrown instanceof ConnectionError) throw unreached(client.address)
    if (!(thrown instanceof ApiError)) throw thrown
  }
  try {
    const { data } = await client.v2.readAccount()
    return `"${data.data.attributes.username}"`
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown
    throw new CommandFailure(`The server at ${client.address} does not know this token.`, {
      code: EXIT_CODES.denied,
      hint: 'Nothing was saved. Was it copied whole, and is it a token of that server?',
    })
  }
}

function unreached(address: string): CommandFailure {
  return new CommandFailure(`Cannot connect to the server at ${address}.`, {
    code: EXIT_CODES.unreachable,
    hint: 'Nothing was saved. Is the address right, and does the server run?',
  })
}
