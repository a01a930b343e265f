import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { platform } from 'node:os'
import { ApiError, ConnectionError, createClient, type Client, isLoopback } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import type { InputStream } from '../host.ts'
import { readStdin } from '../input.ts'
import { loginFilePath, readLogin, writeLogin } from '../settings/login-file.ts'

const TOKEN_BYTES_MAX = 4096

/** `login [ADDRESS] [-]`: verifies a token and saves it. */
export async function runLogin(invocation: CommandContext): Promise<number> {
  const { args, host, output, settings } = invocation
  const isPiped = args.at(-1) === '-'
  const [given, extra] = isPiped ? args.slice(0, -1) : args
  // Arguments are visible to all users of the machine, so that tokens are not accepted there.
  if (extra !== undefined)
    throw new UsageError('A token cannot be an argument: pipe it in and add "-".')
  const address = given === undefined ? settings.address : parseAddress(given)
  const token = await readToken(invocation, { isPiped, address })
  const who = await identifyToken(createClient({ address, token, ...invocation.transport }))
  const saved = await readLogin(host.environment)
  const tokens = { ...saved?.tokens, [address]: token }
  const file = await writeLogin(host.environment, { address, tokens })
  output.printLine(`Signed in at ${address} as ${who}.`)
  output.printLine(`The token is saved in ${file}; "reeve logout" removes it.`)
  return EXIT_CODES.ok
}

function parseAddress(text: string): string {
  const address = /^https?:\/\//.test(text) ? text : `http://${text}`
  if (!URL.canParse(address)) {
    throw new UsageError(`"${text}" is not an address; use one such as http://127.0.0.1:4646.`)
  }
  return address.replace(/\/+$/, '')
}

interface TokenSource {
  readonly isPiped: boolean
  readonly address: string
}

async function readToken(
  invocation: CommandContext,
  { isPiped, address }: TokenSource,
): Promise<string> {
  const { flags, host } = invocation
  const text = isPiped
    ? new TextDecoder().decode(await readStdin(invocation, TOKEN_BYTES_MAX))
    : (flags.string('token') ?? (await promptForToken(invocation, address)))
  const token = text.trim()
  if (token === '') throw new UsageError('No token was given.')
  if (/\s/.test(token)) throw new UsageError('A token has no spaces or line breaks in it.')
  if (host.environment['REEVE_TOKEN']) {
    invocation.output.printNotice('REEVE_TOKEN is set, and takes precedence over the saved token.')
  }
  return token
}

async function promptForToken({ host, signal }: CommandContext, address: string): Promise<string> {
  if (host.input.isTTY !== true) {
    throw new UsageError(
      'Cannot ask for a token, because standard input is not a terminal: pipe it in and add "-".',
    )
  }
  host.err(`Token for ${address}: `)
  const line = await readSecret(host.input, signal)
  host.err('\n')
  return line
}

/** Returns the name of the token, which either API may know. */
async function identifyToken(client: Client): Promise<string> {
  try {
    const { data } = await client.v1.readOwnAclToken()
    return `"${data.Name}" (${data.Type} token)`
  } catch (thrown) {
    if (thrown instanceof ConnectionError) throw connectionFailure(client.address)
    if (!(thrown instanceof ApiError)) throw thrown
  }
  try {
    const { data } = await client.v2.readAccount()
    return `"${data.data.attributes.username}"`
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown
    throw new CommandError(`The server at ${client.address} does not know this token.`, {
      code: EXIT_CODES.denied,
      hint: 'Nothing was saved. Was it copied whole, and is it a token of that server?',
    })
  }
}

function connectionFailure(address: string): CommandError {
  return new CommandError(`Cannot connect to the server at ${address}.`, {
    code: EXIT_CODES.unreachable,
    hint: 'Nothing was saved. Is the address right, and does the server run?',
  })
}

/** `logout`: removes the saved token of a server, or all. */
export async function runLogout({
  flags,
  host,
  output,
  settings,
}: CommandContext): Promise<number> {
  const { environment } = host
  const saved = await readLogin(environment)
  if (flags.has('all') || saved === undefined) {
    await rm(loginFilePath(environment), { force: true })
    output.printLine('No server and no token is kept.')
    return EXIT_CODES.ok
  }
  const { [settings.address]: known, ...tokens } = saved.tokens
  await writeLogin(environment, { ...saved, tokens })
  output.printLine(
    known === undefined
      ? `No token was kept for ${settings.address}.`
      : `The token for ${settings.address} was removed. It is still valid elsewhere.`,
  )
  return EXIT_CODES.ok
}

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const BACKSPACES = new Set(['\u007f', '\b'])

/** Reads a line without echo. */
async function readSecret(input: InputStream, signal: AbortSignal): Promise<string> {
  input.setRawMode?.(true)
  const decoder = new TextDecoder()
  let line = ''
  try {
    for await (const part of input) {
      const text = typeof part === 'string' ? part : decoder.decode(part, { stream: true })
      for (const key of text) {
        if (key === CTRL_C || signal.aborted) throw new CommandError('Nothing was saved.')
        if (key === '\r' || key === '\n' || key === CTRL_D) return line
        line = BACKSPACES.has(key) ? line.slice(0, -1) : line + key
      }
    }
    return line
  } finally {
    input.setRawMode?.(false)
  }
}

/** `ui`: prints the address of the web UI, with a sign-in link if there is a token. */
export async function runUi(invocation: CommandContext): Promise<number> {
  const { flags, output, settings } = invocation
  const signIn = flags.isNegated('sign-in') ? undefined : await createSignIn(invocation)
  const url = `${settings.address.replace(/\/+$/, '')}/ui/${signIn?.path ?? ''}`
  output.print({ URL: url, SignsIn: signIn !== undefined }, () => url)
  if (signIn !== undefined) output.printNotice(signIn.note)
  if (flags.has('open')) await openInBrowser(invocation, url)
  return EXIT_CODES.ok
}

interface SignIn {
  /** Below `/ui/`. */
  readonly path: string
  readonly note: string
}

/** Creates a sign-in link; undefined without a token. */
async function createSignIn({ client, settings }: CommandContext): Promise<SignIn | undefined> {
  const { address, token } = settings
  if (token === undefined) return undefined
  try {
    const { data } = await client.v1.createOneTimeToken()
    const secret = encodeURIComponent(data.OneTimeToken.OneTimeSecretID)
    return { path: `sign-in?ott=${secret}`, note: 'It signs in once, within a few minutes.' }
  } catch (thrown) {
    if (!(thrown instanceof ApiError && thrown.code === 'acl-disabled')) throw thrown
    // Without ACLs only the governance pages need a token. URL fragments are not sent to servers.
    if (!isLoopback(new URL(address).hostname)) return undefined
    const path = `sign-in#token=${encodeURIComponent(token)}`
    return { path, note: 'It holds the token of this command line: keep it to yourself.' }
  }
}

const BROWSER_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** Opens a browser. Errors are only a notice, because the address is printed. */
async function openInBrowser({ output }: CommandContext, url: string): Promise<void> {
  const [program = '', ...args] = BROWSER_COMMANDS[platform()] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  try {
    await once(child, 'spawn')
    child.unref()
  } catch {
    output.printNotice(`No browser could be started with "${program}": open the address yourself.`)
  }
}
